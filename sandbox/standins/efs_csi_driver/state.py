"""What outlives the plugin on the client: efs-utils' configuration, and a note of each mount."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from sandbox.standins.csi import logs, mounts

STATE_FOLDER: Final = "/var/run/efs"
CONFIG_FOLDER: Final = "/etc/amazon/efs"
FOLDERS: Final = (STATE_FOLDER, "/var/amazon/efs", CONFIG_FOLDER)


def config_folder() -> Path:
    """Where efs-utils reads its configuration."""
    return Path(CONFIG_FOLDER)


def write_config(folder: Path, region: str) -> None:
    """Tells efs-utils its region, unless somebody has configured it; raises OSError."""
    file = folder / "efs-utils.conf"
    if not file.exists():
        file.write_text(f"[mount]\nregion = {region}\nstunnel_check_cert_hostname = true\n", encoding="utf-8")


class MountStates:
    """One note for each mount, as efs-utils' watchdog keeps them for its tunnels."""

    def prepare(self) -> None:
        """Makes the folders, and says what an earlier run left mounted."""
        for name in FOLDERS:
            folder = Path(name)
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                logs.error("The folder is not writable: mounts will not survive the plugin", folder=folder, err=error)
        kept = 0
        for file in Path(STATE_FOLDER).glob("fs-*.state"):
            target = str(json.loads(file.read_text(encoding="utf-8"))["mountpoint"])
            if mounts.mount_at(target) is None:
                file.unlink(missing_ok=True)
            else:
                kept += 1
        logs.info("Mounts of an earlier run", number=kept)

    def note(self, source: str, target: str, options: str) -> None:
        """Remember a mount; raises OSError."""
        text = json.dumps({"source": source, "mountpoint": target, "options": options})
        self._file(source.partition(":")[0], target).write_text(text, encoding="utf-8")

    def forget(self, target: str) -> None:
        """Drops the note of a mount."""
        for file in Path(STATE_FOLDER).glob(f"fs-*.{_dotted(target)}.state"):
            file.unlink(missing_ok=True)

    def _file(self, file_system: str, target: str) -> Path:
        return Path(STATE_FOLDER) / f"{file_system}.{_dotted(target)}.state"


def _dotted(target: str) -> str:
    # A mount point deep in allocations' folders may be longer than a file's name can be; its end tells it apart.
    return target.strip("/").replace("/", ".")[-180:]
