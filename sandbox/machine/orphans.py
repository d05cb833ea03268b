"""Children of a Pulumi engine that was killed: its language host and program would wait for ever."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Final

from sandbox.machine import processes
from sandbox.settings import HOME_VARIABLE, SandboxSettings

_ENGINE: Final = "pulumi"
_CHILDREN: Final = (
    "pulumi-language-",
    "pulumi-resource-",
    "pulumi-analyzer-",
    "sandbox.standins.plugins.",
    "nomad_stateful.",
)


def end_orphans(settings: SandboxSettings, proc: Path = Path("/proc")) -> int:
    """Ends what engines of this sandbox left behind; gives the number of processes."""
    found = [processes.identify(pid) for pid in orphans(settings.home, proc)]
    return sum(processes.stop_process(record, timeout_s=2) for record in found)


def orphans(home: Path, proc: Path = Path("/proc")) -> list[int]:
    """Pids of engines' children that belong to this sandbox by their environment and have no engine above them."""
    mark = f"{HOME_VARIABLE}={home}".encode()
    found = []
    for folder in proc.iterdir():
        if not folder.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            words = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
            if _is_child(words) and mark in (folder / "environ").read_bytes().split(b"\0"):
                pid = int(folder.name)
                if not _has_engine(pid, proc):
                    found.append(pid)
    return sorted(found)


def _is_child(words: list[str]) -> bool:
    names = [Path(word).name for word in words[:2]]
    if any(name.startswith(_CHILDREN[:3]) for name in names):
        return True
    return words[1:2] == ["-m"] and len(words) > 2 and words[2].startswith(_CHILDREN[3:])


def _has_engine(pid: int, proc: Path) -> bool:
    while pid > 1:
        stat = (proc / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
        name, _, rest = stat.rpartition(")")
        if name.partition("(")[2] == _ENGINE:
            return True
        pid = int(rest.split()[1])
    return False
