"""Children of a Pulumi engine that was killed: its language host and program would wait for ever."""

from __future__ import annotations

import contextlib
from itertools import takewhile
from pathlib import Path
from typing import Final

from sandbox.machine import processes
from sandbox.settings import HOME_VARIABLE, SandboxSettings

_ENGINE: Final = "pulumi"
_PROGRAMS: Final = ("pulumi-language-", "pulumi-resource-", "pulumi-analyzer-")
_MODULES: Final = (
    "sandbox.standins.plugins.",
    "nomad_stateful.provider",
    "pulumi.policy",
)
"""Modules that the launchers of plugins and policy packs run."""


def end_orphans(settings: SandboxSettings, proc: Path = Path("/proc")) -> int:
    """Ends what engines of this sandbox left behind; returns the number of processes."""
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
    """Whether a command line is `PROGRAM ...`, `INTERPRETER PROGRAM ...` or `python [-OPTION ...] -m MODULE ...`."""
    if any(Path(word).name.startswith(_PROGRAMS) for word in words[:2]):
        return True
    options = list(takewhile(lambda word: word.startswith("-"), words[1:]))
    module = words[1 + len(options) :][:1]
    return options[-1:] == ["-m"] and bool(module) and module[0].startswith(_MODULES)


def _has_engine(pid: int, proc: Path) -> bool:
    while pid > 1:
        stat = (proc / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
        name, _, rest = stat.rpartition(")")
        if name.partition("(")[2] == _ENGINE:
            return True
        pid = int(rest.split()[1])
    return False
