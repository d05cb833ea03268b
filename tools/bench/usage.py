"""Memory and processor time of a command and everything it starts, as the kernel has them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.faults.background import Background

SAMPLE_S = 0.1
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
_PAGE_MIB = os.sysconf("SC_PAGE_SIZE") / 2**20
_NAMES = (
    ("sandbox.standins.plugins.aws", "aws plugin"),
    ("pulumi-resource-aws", "aws plugin"),
    ("sandbox.standins.plugins.nomad", "nomad plugin"),
    ("pulumi-resource-nomad-csi", "nomad-csi plugin"),
    ("pulumi-resource-nomad", "nomad plugin"),
    ("-m nomad_stateful.provider", "nomad-csi plugin"),
    ("pulumi-language-python-exec", "program"),
    ("pulumi-language-python", "language host"),
)


@dataclass(frozen=True)
class Process:
    """One process at one moment."""

    pid: int
    name: str
    """What it is in a deployment: engine, program, aws plugin…"""
    cpu_s: float
    """User and system time so far."""
    resident_mib: float


class Usage(Background):
    """Memory and processor time of a process and everything below it, sampled from `begin` to `end`."""

    def __init__(self, root: int) -> None:
        self.peak_mib: Counter[str] = Counter()
        """Most resident memory of one process, by what it is."""
        self._process_s: dict[int, tuple[str, float]] = {}
        self._root = root
        super().__init__("usage", self._watch)

    @property
    def cpu_s(self) -> float:
        """Of all processes."""
        return sum(seconds for _, seconds in self._process_s.values())

    def sample(self) -> None:
        """Looks at all processes once."""
        for process in process_tree(self._root):
            # What was forked may be another program by now; one that has ended has no command line any more.
            name = process.name or self._process_s.get(process.pid, ("",))[0]
            self._process_s[process.pid] = name, process.cpu_s
            self.peak_mib[name] = max(self.peak_mib[name], round(process.resident_mib))

    def _watch(self) -> None:
        while not self.ending.wait(SAMPLE_S):
            self.sample()


def process_tree(root: int, proc: Path = Path("/proc")) -> Iterator[Process]:
    """A process and everything below it."""
    stats: dict[int, list[str]] = {}
    for folder in proc.iterdir():
        if folder.name.isdigit():
            try:
                stats[int(folder.name)] = (folder / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
    for pid, stat in stats.items():
        if _is_below(pid, root, stats):
            try:
                command = (proc / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            cpu_s = (int(stat[11]) + int(stat[12])) * _TICK_S
            yield Process(pid, process_name(command.strip()), cpu_s, int(stat[21]) * _PAGE_MIB)


def process_name(command: str) -> str:
    """What a process of a deployment is called, by its command line."""
    words = command.split()
    if words and Path(words[0]).name == "pulumi":
        return "engine"
    return next((name for mark, name in _NAMES if mark in command), command[:40])


def _is_below(pid: int, root: int, stats: dict[int, list[str]]) -> bool:
    while pid not in (root, 0):
        pid = int(stats[pid][1]) if pid in stats else 0
    return pid == root
