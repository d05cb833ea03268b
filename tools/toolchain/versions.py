"""Versions of programs: how they are read from a program's output, and which of them are suitable."""

from __future__ import annotations

import re
from dataclasses import dataclass

_PATTERN = re.compile(r"(?:^|[\s:v]|go)(\d+)\.(\d+)(?:\.(\d+))?([-+][0-9A-Za-z.+-]+|(?:rc|beta)\d+)?(?:\s|$)")


@dataclass(frozen=True, order=True)
class Version:
    """A release number; a pre-release sorts before its release."""

    major: int
    minor: int
    patch: int = 0
    is_release: bool = True

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}" + ("" if self.is_release else " (pre-release)")


@dataclass(frozen=True)
class VersionRange:
    """From `lowest` (included) up to `below` (excluded)."""

    lowest: Version
    below: Version

    def __contains__(self, version: object) -> bool:
        return isinstance(version, Version) and self.lowest <= version and version.major < self.below.major

    def __str__(self) -> str:
        patch = f".{self.lowest.patch}" if self.lowest.patch else ""
        return f">={self.lowest.major}.{self.lowest.minor}{patch},<{self.below.major}"


def parse_version(text: str) -> Version | None:
    """The first version number in a program's output ("v3.200.0", "Nomad v1.11.3", "go1.26.1"), or None."""
    found = _PATTERN.search(text)
    if found is None:
        return None
    major, minor, patch, suffix = found.groups()
    # "+ent" and the like mark a build of a release; only "-rc.1", "rc1" and "beta1" come before it.
    return Version(int(major), int(minor), int(patch or 0), suffix is None or suffix.startswith("+"))
