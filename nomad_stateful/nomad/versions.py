"""Versions of Nomad with which data on CSI volumes is safe, and the faults of the others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

Release = tuple[int, int, int]

_NUMBERS: Final = re.compile(r"v?(\d+)\.(\d+)\.(\d+)")
_BEFORE_ALL: Final = (0, 0, 0)

ADVISED: Final = "1.11.3"
"""The version to upgrade to, which the sandbox runs."""
_FLOOR: Final = (1, 11, 2)
# Enterprise 1.10 is a long-term release with fixes of its own; later releases have the community's numbers.
_ENTERPRISE_LINE: Final = (1, 10)
_ENTERPRISE_FLOOR: Final = (1, 10, 7)


@dataclass(frozen=True)
class _Fault:
    """A fault of Nomad, and the releases that fixed it. https://github.com/hashicorp/nomad/blob/main/CHANGELOG.md"""

    issue: str
    what: str
    fixed: Release
    enterprise: Release
    since: Release = _BEFORE_ALL
    on_clients: bool = False

    def is_in(self, release: Release, *, is_enterprise: bool) -> bool:
        own_line = is_enterprise and release[:2] <= _ENTERPRISE_LINE
        return self.since <= release < (self.enterprise if own_line else self.fixed)


_UNSAFE: Final = (
    _Fault(
        "GH-26831",
        "a volume can be unmounted while a task that is shutting down still uses it",
        fixed=(1, 11, 0),
        enterprise=(1, 10, 6),
        on_clients=True,
    ),
    _Fault("GH-27176", "reading a volume can erase its secrets", fixed=(1, 11, 1), enterprise=(1, 10, 7)),
    _Fault(
        "GH-27262",
        "deploying a CSI node plugin, a system job, can panic the leader",
        since=(1, 11, 0),
        fixed=(1, 11, 2),
        enterprise=(1, 11, 2),
    ),
)
_ADVISED_AGAINST: Final = (
    _Fault("GH-27548", "the servers' state can get corrupted", fixed=(1, 11, 3), enterprise=(1, 10, 9)),
)


def refusals(version: str, *, is_client: bool) -> list[str]:
    """Returns why an agent of this version is refused; empty where it is not, or reports no version."""
    release, is_enterprise = _read(version)
    floor = _ENTERPRISE_FLOOR if is_enterprise else _FLOOR
    if release is None or release >= floor:
        # Enterprise 1.11.0 and 1.11.1 are above the Enterprise floor but have the community's faults.
        return [] if release is None or is_client else list(_found(_UNSAFE, release, is_enterprise=is_enterprise))
    faults = [fault for fault in _UNSAFE if fault.on_clients or not is_client]
    found = list(_found(faults, release, is_enterprise=is_enterprise))
    least = _text(floor) + ("+ent" if is_enterprise else "")
    return found or [f"clients must not be older than {least}, the oldest that servers may be"]


def warnings(version: str) -> list[str]:
    """Returns the faults of a version that is advised against but not refused."""
    release, is_enterprise = _read(version)
    return [] if release is None else list(_found(_ADVISED_AGAINST, release, is_enterprise=is_enterprise))


def _found(faults: tuple[_Fault, ...] | list[_Fault], release: Release, *, is_enterprise: bool) -> Iterator[str]:
    for fault in faults:
        if fault.is_in(release, is_enterprise=is_enterprise):
            own_line = is_enterprise and release[:2] <= _ENTERPRISE_LINE
            fixed = f"{_text(fault.enterprise)}+ent" if own_line else _text(fault.fixed)
            yield f"{fault.what} ({fault.issue}, fixed in {fixed})"


def _read(version: str) -> tuple[Release | None, bool]:
    """Returns the numbers of a version such as 1.10.7+ent, and whether it is Enterprise."""
    found = _NUMBERS.match(version)
    if found is None:
        return None, False
    major, minor, patch = map(int, found.groups())
    return (major, minor, patch), "+ent" in version


def _text(release: Release) -> str:
    return ".".join(map(str, release))
