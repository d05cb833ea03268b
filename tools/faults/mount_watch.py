"""A watch that no two instances ever have the file system of one volume mounted."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from sandbox.machine import inventory
from sandbox.settings import SandboxSettings
from tools.faults.background import Background

PERIOD_S: Final = 0.1
_LOOP_MAJOR: Final = "7"
_FILE_SYSTEMS: Final = ("ext4", "xfs")

Sample = dict[str, frozenset[str]]
"""By the image of a volume: who has it mounted (instances), or what mounts it (devices)."""


@dataclass(frozen=True)
class Violation:
    """A volume that was mounted twice at one moment."""

    at: datetime
    volume: str
    mounted: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.at:%H:%M:%S.%f} UTC: {self.volume} is mounted on {' and on '.join(self.mounted)}"


class MountWatch(Background):
    """Samples the mounts of every instance ten times a second, from `begin` to `end`."""

    def __init__(self, sample: Callable[[], list[Sample]], period_s: float = PERIOD_S) -> None:
        self._sample = sample
        self._period_s = period_s
        super().__init__("mount-watch", self._work)
        self.samples = 0
        """How often it has looked."""
        self.seen: set[str] = set()
        """Volumes that it saw mounted."""
        self.violations: list[Violation] = []
        """Each kept once for as long as it lasts."""
        self._now: set[tuple[str, tuple[str, ...]]] = set()

    def look(self) -> None:
        """Takes one sample and keeps what it shows."""
        doubled = set()
        for sample in self._sample():
            self.seen |= set(sample)
            doubled |= {(volume, tuple(sorted(where))) for volume, where in sample.items() if len(where) > 1}
        for volume, where in sorted(doubled - self._now):
            self.violations.append(Violation(datetime.now(UTC), volume, where))
        self._now = doubled
        self.samples += 1

    def _work(self) -> None:
        while not self.ending.is_set():
            began = time.monotonic()
            self.look()
            self.ending.wait(max(0.0, self._period_s - (time.monotonic() - began)))


def sampler(settings: SandboxSettings) -> Callable[[], list[Sample]]:
    """Looks at a sandbox in two ways: what its instances have mounted, and what file systems the kernel keeps open.

    The second one also knows mounts in namespaces that the instance's first process does not see.
    """
    folder = settings.volume_dir.resolve()
    return lambda: [by_instance(settings, folder), by_device(folder)]


def by_instance(settings: SandboxSettings, folder: Path) -> Sample:
    """Volumes by the instances that have them mounted."""
    found: dict[str, set[str]] = {}
    for record in inventory.records(settings):
        if record.first_process is None or not record.alive:
            continue
        with contextlib.suppress(OSError):
            text = Path(f"/proc/{record.first_process.pid}/mountinfo").read_text(encoding="utf-8", errors="replace")
            for loop in loops(text):
                for volume in image(loop, folder):
                    found.setdefault(volume, set()).add(record.name)
    return {volume: frozenset(names) for volume, names in found.items()}


def by_device(folder: Path) -> Sample:
    """Volumes by the loop devices over them that carry a live file system, in whatever namespace it is mounted."""
    found: dict[str, set[str]] = {}
    for kind in _FILE_SYSTEMS:
        for path in Path("/sys/fs", kind).glob("loop*"):
            for volume in image(path.name, folder):
                found.setdefault(volume, set()).add(f"/dev/{path.name}")
    return {volume: frozenset(devices) for volume, devices in found.items()}


def loops(mountinfo: str) -> set[str]:
    """Names of the loop devices that are mounted, from the text of a mountinfo file."""
    devices = {line.split(" ", 3)[2] for line in mountinfo.splitlines()}
    return {f"loop{minor}" for major, _, minor in (one.partition(":") for one in devices) if major == _LOOP_MAJOR}


def image(loop: str, folder: Path) -> list[str]:
    """The name of the volume's image behind a loop device, if it is one of the folder's."""
    with contextlib.suppress(OSError):
        text = Path(f"/sys/block/{loop}/loop/backing_file").read_text(encoding="utf-8")
        path = Path(text.rstrip("\n").removesuffix(" (deleted)"))
        if path.is_relative_to(folder):
            return [path.stem]
    return []
