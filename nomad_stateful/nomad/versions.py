"""Versions of Nomad with which data on CSI volumes is safe, and the faults of the others, as its changelog has them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

Release = tuple[int, int, int]

_NUMBERS: Final = re.compile(r"v?(\d+)\.(\d+)\.(\d+)")
_BEFORE_ALL: Final = (0, 0, 0)

ADVISED: Final = "2.0.5"
"""The version to upgrade to. The community's 1.11 ended with 1.11.3, and gets no fixes any more."""
_FLOOR: Final = (1, 11, 2)
# Enterprise 1.10 and 1.11 are long-term releases with fixes of their own; later releases have the community's numbers.
_ENTERPRISE_1_10: Final = (1, 10)
_ENTERPRISE_1_11: Final = (1, 11)
_ENTERPRISE_FLOOR: Final = (1, 10, 7)
_ENTERPRISE_ADVISED: Final = {_ENTERPRISE_1_10: "1.10.15+ent", _ENTERPRISE_1_11: "1.11.9+ent"}


@dataclass(frozen=True)
class Fault:
    """A fault of Nomad, and the releases that fixed it. https://github.com/hashicorp/nomad/blob/main/CHANGELOG.md"""

    issue: str
    what: str
    fixed: Release
    enterprise_1_10: Release
    enterprise_1_11: Release | None = None
    """None where the community's release has the same number."""
    since: Release = _BEFORE_ALL
    of: Literal["servers", "clients", "both"] = "servers"
    cve: str = ""

    def fix_for(self, release: Release, *, is_enterprise: bool) -> Release:
        """Returns the release of this line, or of the next, that has the fix."""
        if is_enterprise and release[:2] <= _ENTERPRISE_1_10:
            return self.enterprise_1_10
        if is_enterprise and release[:2] == _ENTERPRISE_1_11:
            return self.enterprise_1_11 or self.fixed
        return self.fixed

    def is_in(self, release: Release, *, is_enterprise: bool) -> bool:
        """Returns whether a release has it."""
        return self.since <= release < self.fix_for(release, is_enterprise=is_enterprise)

    def is_of(self, *, clients: bool) -> bool:
        """Returns whether clients, or servers, of such a release are concerned."""
        return self.of in ("both", "clients" if clients else "servers")

    def text(self, release: Release, *, is_enterprise: bool) -> str:
        """Returns what it is, and the release that fixed it for this line."""
        fixed = self.fix_for(release, is_enterprise=is_enterprise)
        suffix = "+ent" if is_enterprise and fixed[:2] <= _ENTERPRISE_1_11 else ""
        names = f"{self.cve}, {self.issue}" if self.cve else self.issue
        return f"{self.what} ({names}, fixed in {_text(fixed)}{suffix})"


_UNSAFE: Final = (
    Fault(
        "GH-26831",
        "a volume can be unmounted while a task that is shutting down still uses it",
        fixed=(1, 11, 0),
        enterprise_1_10=(1, 10, 6),
        of="both",
    ),
    Fault("GH-27176", "reading a volume can erase its secrets", fixed=(1, 11, 1), enterprise_1_10=(1, 10, 7)),
    Fault(
        "GH-27262",
        "deploying a CSI node plugin, a system job, can panic the leader",
        since=(1, 11, 0),
        fixed=(1, 11, 2),
        enterprise_1_10=(1, 11, 2),
    ),
)
_ADVISED_AGAINST: Final = (
    Fault("GH-27548", "the servers' state can get corrupted", fixed=(1, 11, 3), enterprise_1_10=(1, 10, 9)),
    Fault(
        "GH-27918",
        "a task can read and write the client's files as Nomad's agent, root, through a link in its logs' folder",
        fixed=(2, 0, 1),
        enterprise_1_10=(1, 10, 11),
        enterprise_1_11=(1, 11, 5),
        of="clients",
        cve="CVE-2026-6959",
    ),
    Fault(
        "GH-27919",
        "whoever may create host volumes can run any program of a client as Nomad's agent, root",
        since=(1, 10, 0),
        fixed=(2, 0, 1),
        enterprise_1_10=(1, 10, 11),
        enterprise_1_11=(1, 11, 5),
        of="both",
        cve="CVE-2026-7474",
    ),
    Fault(
        "GH-28190",
        "a docker task can join the host's namespaces although privileged containers are off",
        fixed=(2, 0, 4),
        enterprise_1_10=(1, 10, 14),
        enterprise_1_11=(1, 11, 8),
        of="clients",
        cve="CVE-2026-14891",
    ),
    Fault(
        "GH-28177",
        "a docker task can mount the host's folders through a link although docker's volumes are off",
        fixed=(2, 0, 4),
        enterprise_1_10=(1, 10, 14),
        enterprise_1_11=(1, 11, 8),
        of="clients",
        cve="CVE-2026-14896",
    ),
    Fault(
        "GH-27832",
        "of two changes of a job at once, each on condition that it is unchanged, both can be taken",
        fixed=(2, 0, 1),
        enterprise_1_10=(1, 10, 11),
        enterprise_1_11=(1, 11, 5),
    ),
    Fault(
        "GH-27852",
        "a job can be set dead while its allocations wait to be rescheduled",
        since=(1, 11, 0),
        fixed=(2, 0, 1),
        enterprise_1_10=(1, 11, 0),
        enterprise_1_11=(1, 11, 5),
    ),
    Fault(
        "GH-28275",
        "a job that waits for a volume which is not registered does not start when it is",
        fixed=(2, 0, 5),
        enterprise_1_10=(1, 10, 15),
        enterprise_1_11=(1, 11, 9),
    ),
    Fault(
        "GH-28394",
        "an allocation that the servers have deleted can go on running on a client",
        fixed=(2, 0, 5),
        enterprise_1_10=(1, 10, 15),
        enterprise_1_11=(1, 11, 9),
    ),
)


def refusals(version: str, *, is_client: bool) -> list[str]:
    """Returns why an agent of this version is refused; empty where it is not, or reports no version."""
    release, is_enterprise = _read(version)
    floor = _ENTERPRISE_FLOOR if is_enterprise else _FLOOR
    if release is None or release >= floor:
        # Enterprise 1.11.0 and 1.11.1 are above the Enterprise floor but have the community's faults.
        return [] if release is None or is_client else _texts(_UNSAFE, release, is_enterprise=is_enterprise)
    faults = [fault for fault in _UNSAFE if fault.is_of(clients=is_client)]
    found = _texts(faults, release, is_enterprise=is_enterprise)
    least = _text(floor) + ("+ent" if is_enterprise else "")
    return found or [f"clients must not be older than {least}, the oldest that servers may be"]


def faults(version: str, *, is_client: bool) -> list[Fault]:
    """Returns the faults of a version that is advised against but not refused."""
    release, is_enterprise = _read(version)
    if release is None:
        return []
    return [
        fault
        for fault in _ADVISED_AGAINST
        if fault.is_of(clients=is_client) and fault.is_in(release, is_enterprise=is_enterprise)
    ]


def warnings(version: str, *, is_client: bool) -> list[str]:
    """Returns the same as texts, each with the release that fixed it."""
    release, is_enterprise = _read(version)
    found = faults(version, is_client=is_client)
    return [] if release is None else [one.text(release, is_enterprise=is_enterprise) for one in found]


def advised(version: str) -> str:
    """Returns the version to upgrade to from this one, or newer: an Enterprise long-term line has its own."""
    release, is_enterprise = _read(version)
    if release is None or not is_enterprise:
        return ADVISED
    return _ENTERPRISE_ADVISED.get(max(release[:2], _ENTERPRISE_1_10), ADVISED)


def _texts(known: Sequence[Fault], release: Release, *, is_enterprise: bool) -> list[str]:
    found = [fault for fault in known if fault.is_in(release, is_enterprise=is_enterprise)]
    return [fault.text(release, is_enterprise=is_enterprise) for fault in found]


def _read(version: str) -> tuple[Release | None, bool]:
    """Returns the numbers of a version such as 1.10.7+ent, and whether it is Enterprise."""
    found = _NUMBERS.match(version)
    if found is None:
        return None, False
    major, minor, patch = map(int, found.groups())
    return (major, minor, patch), "+ent" in version


def _text(release: Release) -> str:
    return ".".join(map(str, release))
