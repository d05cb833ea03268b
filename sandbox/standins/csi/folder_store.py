"""Volumes and snapshots as folders, listed in a file beside them: several processes may share them."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from sandbox.standins.csi.commands import run
from sandbox.standins.csi.errors import invalid
from sandbox.standins.csi.volume_store import Snapshot, Source, Volume

STATE_FILE: Final = "state.json"
_NAME: Final = re.compile(r"[A-Za-z0-9_:+-][A-Za-z0-9_:+.-]*")
COPY_TIMEOUT_S: Final = 600.0


class FolderStore:
    """A store under one folder. Capacities are recorded, not enforced: a folder has no quota."""

    def __init__(
        self,
        root: Path,
        make_id: Callable[[str], str],
        *,
        volume_folder: str = "",
        snapshot_folder: str = "snapshots",
        mode: int | None = 0o777,
    ) -> None:
        """`make_id` makes an id from a name; `mode` is that of a new volume's folder, none leaves it."""
        self._root = root
        self._make_id = make_id
        self._volume_folder = volume_folder
        self._snapshot_folder = snapshot_folder
        self._mode = mode

    def prepare(self) -> None:
        """Makes the folders; raises OSError."""
        for part in (self._volume_folder, self._snapshot_folder):
            (self._root / part).mkdir(parents=True, exist_ok=True)

    def volume_path(self, volume_id: str) -> Path:
        """Where a volume's content is."""
        return self._root / self._volume_folder / _file_name(volume_id)

    def snapshot_path(self, snapshot_id: str) -> Path:
        """Where a snapshot's content is."""
        return self._root / self._snapshot_folder / _file_name(snapshot_id)

    def volumes(self) -> list[Volume]:
        """All volumes, oldest first."""
        return [_volume(entry) for entry in self._read()["volumes"]]

    def snapshots(self) -> list[Snapshot]:
        """All snapshots, oldest first."""
        return [Snapshot(**entry) for entry in self._read()["snapshots"]]

    def create(self, name: str, capacity_bytes: int, source: Source | None) -> Volume:
        """Makes a volume, filled from its source."""
        volume = Volume(self._make_id(name), name, capacity_bytes, source)
        folder = self.volume_path(volume.volume_id)
        # What a killed process left half filled is not this volume.
        shutil.rmtree(folder, ignore_errors=True)
        if source is None:
            folder.mkdir(parents=True)
        else:
            origin = self.snapshot_path(source.id) if source.kind == "snapshot" else self.volume_path(source.id)
            _copy(origin, folder)
        if self._mode is not None and source is None:
            folder.chmod(self._mode)
        with self._changed() as state:
            state["volumes"].append(asdict(volume))
        return volume

    def delete(self, volume: Volume) -> None:
        """Removes a volume."""
        _remove(self.volume_path(volume.volume_id))
        with self._changed() as state:
            state["volumes"] = [entry for entry in state["volumes"] if entry["volume_id"] != volume.volume_id]

    def resize(self, volume: Volume, capacity_bytes: int) -> None:
        """Records another capacity."""
        with self._changed() as state:
            for entry in state["volumes"]:
                if entry["volume_id"] == volume.volume_id:
                    entry["capacity_bytes"] = capacity_bytes

    def create_snapshot(self, name: str, volume: Volume) -> Snapshot:
        """Copies a volume."""
        snapshot = Snapshot(self._make_id(name), name, volume.volume_id, volume.capacity_bytes, time.time())
        folder = self.snapshot_path(snapshot.snapshot_id)
        shutil.rmtree(folder, ignore_errors=True)
        _copy(self.volume_path(volume.volume_id), folder)
        with self._changed() as state:
            state["snapshots"].append(asdict(snapshot))
        return snapshot

    def delete_snapshot(self, snapshot: Snapshot) -> None:
        """Removes a snapshot."""
        _remove(self.snapshot_path(snapshot.snapshot_id))
        with self._changed() as state:
            state["snapshots"] = [one for one in state["snapshots"] if one["snapshot_id"] != snapshot.snapshot_id]

    def available_bytes(self) -> int:
        """Frees space of the file system."""
        found = os.statvfs(self._root)
        return found.f_bavail * found.f_frsize

    def _read(self) -> dict[str, Any]:
        try:
            found: dict[str, Any] = json.loads((self._root / STATE_FILE).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {"volumes": [], "snapshots": []}
        return found

    @contextmanager
    def _changed(self) -> Iterator[dict[str, Any]]:
        """The lists, to be changed; written as a whole when the block ends."""
        with (self._root / f".{STATE_FILE}.lock").open("w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            state = self._read()
            yield state
            new = self._root / f".{STATE_FILE}.new"
            new.write_text(json.dumps(state, indent=1), encoding="utf-8")
            new.replace(self._root / STATE_FILE)


def _file_name(id: str) -> str:
    """An id as the name of a folder: it comes from a volume's name, which is whatever Nomad's user wrote."""
    if not _NAME.fullmatch(id):
        raise invalid(f"name is {id!r}: use letters, digits, '_', '-', ':', '+' and '.', and no '.' first")
    return id


def _volume(entry: dict[str, Any]) -> Volume:
    source = entry["source"]
    return Volume(**{**entry, "source": Source(**source) if source else None})


def _copy(origin: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    run(["cp", "-a", "--reflink=auto", str(origin), str(target)], timeout_s=COPY_TIMEOUT_S)


def _remove(folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)
