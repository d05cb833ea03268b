"""Locks that Pulumi puts on a stack: whose they are, and which of them a killed command of this machine left.

A lock names a host and a process id. Both may be those of another machine or container, so that alone never says that
its pulumi has ended. Each pulumi that a command starts is noted in a file of the user's own, and only its lock is
removed, once that very process is gone.
"""

from __future__ import annotations

import json
import os
import re
import socket
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

# As in a container whose user has no entry and no folder, or may not write there.
_NO_HOME = (OSError, RuntimeError)
_OF_A_BUCKET = re.compile(r"created by (?P<user>\S+)@(?P<host>\S+) \(pid (?P<pid>\d+)\) at (?P<since>\S+)")
_OF_PULUMI_CLOUD = re.compile(r"another update is currently in progress", re.IGNORECASE)


@dataclass(frozen=True)
class Lock:
    """One lock, as Pulumi names it."""

    host: str
    pid: int
    said: str
    """Who has it, for messages."""


def found(output: str) -> list[Lock]:
    """Returns the locks that kept a pulumi from its work, by its output; none where something else did."""
    locks = [
        Lock(one["host"], int(one["pid"]), f"{one['user']}@{one['host']} (pid {one['pid']}) since {one['since']}")
        for one in _OF_A_BUCKET.finditer(output)
    ]
    return locks or ([Lock("", 0, "another update")] if _OF_PULUMI_CLOUD.search(output) else [])


@dataclass(frozen=True)
class Started:
    """A pulumi that a command of this user started for a stack."""

    stack: str
    host: str
    pid: int
    began: str
    """When it began, in the kernel's ticks; "" without /proc."""
    boot: str
    """Boot of the machine and namespace of its process ids, in which the id means this process."""

    @classmethod
    def of(cls, stack: str, pid: int) -> Started:
        """Returns a process that runs, or has not been waited for."""
        return cls(stack, socket.gethostname(), pid, _began(pid), _boot())

    def note(self) -> None:
        """Writes it down, for a later command; where nothing can be written, its lock is left to the operator."""
        with suppress(*_NO_HOME):
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._path.write_text(json.dumps(asdict(self)), encoding="utf-8")

    def forget(self) -> bool:
        """Removes the note; returns whether it was there, which of several commands one alone is told."""
        try:
            self._path.unlink()
        except _NO_HOME:
            return False
        return True

    def left(self, lock: Lock) -> bool:
        """Returns whether the lock is this process's, which is gone."""
        return (self.host, self.pid) == (lock.host, lock.pid) and self._has_ended()

    def _has_ended(self) -> bool:
        if self.boot != _boot():
            return False
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            return False
        # Another process may have its id by now, and one that nobody waits for keeps it.
        return bool(self.began) and _began(self.pid) != self.began

    @property
    def _path(self) -> Path:
        return _folder() / f"{self.pid}.json"


def noted(stack: str) -> list[Started]:
    """Returns the noted processes of a stack."""
    return [one for one in _all() if one.stack == stack]


def _all() -> Iterator[Started]:
    paths: list[Path] = []
    with suppress(*_NO_HOME):
        paths = list(_folder().glob("*.json"))
    for path in paths:
        try:
            yield Started(**json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            continue  # cut off by a kill: without it the lock is left to the operator


def _folder() -> Path:
    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(home) / "nomad-stateful" / "pulumi"


def _boot() -> str:
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return ""


def _began(pid: int) -> str:
    """Returns the start of a process in ticks; "" without /proc, and of one that has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] == "Z" else fields[19]
