"""The processes that a command started, as the kernel has them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.bench.proxy import part

_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
_PAGE_MIB = os.sysconf("SC_PAGE_SIZE") / 2**20
_NAMES = (
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
    return next((name for mark, name in _NAMES if mark in command), None) or part(command)


def _is_below(pid: int, root: int, stats: dict[int, list[str]]) -> bool:
    while pid not in (root, 0):
        pid = int(stats[pid][1]) if pid in stats else 0
    return pid == root
