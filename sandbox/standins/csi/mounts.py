"""Reads which file systems are mounted where."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

MOUNTINFO: Final = Path("/proc/self/mountinfo")
_OCTAL: Final = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True)
class Mount:
    """One line of mountinfo."""

    device: tuple[int, int]
    """Major and minor number of the file system's device."""
    root: str
    """What of the file system is mounted: "/" or, of a bind mount, a path in it."""
    path: str
    options: frozenset[str]
    fs_type: str
    source: str

    @property
    def read_only(self) -> bool:
        """Whether this mount, not its file system, is read only."""
        return "ro" in self.options


def _plain(field: str) -> str:
    # Blanks and backslashes are written as octal numbers of the path's bytes.
    return _OCTAL.sub(lambda match: chr(int(match[1], 8)), field)


def parse_mountinfo(text: str) -> list[Mount]:
    """The mounts, in the order they were made."""
    mounts = []
    for line in text.splitlines():
        left, _, right = line.partition(" - ")
        fields, tail = left.split(" "), right.split(" ")
        if len(fields) < 6 or len(tail) < 2:
            continue
        major, _, minor = fields[2].partition(":")
        mounts.append(
            Mount(
                device=(int(major), int(minor)),
                root=_plain(fields[3]),
                path=_plain(fields[4]),
                options=frozenset(fields[5].split(",")),
                fs_type=tail[0],
                source=_plain(tail[1]),
            )
        )
    return mounts


def mounts_at(path: str) -> list[Mount]:
    """What is mounted at exactly this path, the visible one last."""
    # A path whose mount has gone bad cannot be resolved by stat; resolving its parent is enough.
    parent, name = os.path.split(path.rstrip("/"))
    real = str(Path(os.path.realpath(parent)) / name)
    return [mount for mount in parse_mountinfo(MOUNTINFO.read_text(errors="surrogateescape")) if mount.path == real]


def mount_at(path: str) -> Mount | None:
    """The visible mount at exactly this path, or None."""
    found = mounts_at(path)
    return found[-1] if found else None
