"""Faults of versions that the program does not refuse, as data: a new one is one entry."""

import re
from dataclasses import dataclass
from typing import Final, Literal

_ALL: Final = (0, 0, 0)
_NONE_YET: Final = (9999, 0, 0)


@dataclass(frozen=True)
class Fault:
    """A fault that is known of the versions from `since` on, up to and without `before`."""

    what: str
    why: str
    cure: str
    link: str
    since: tuple[int, int, int] = _ALL
    before: tuple[int, int, int] = _NONE_YET
    level: Literal["problem", "warning"] = "warning"

    def is_in(self, version: str) -> bool:
        """Returns whether a version has it; one that cannot be read has not."""
        numbers = tuple(int(number) for number in re.findall(r"\d+", version)[:3])
        return len(numbers) >= 2 and self.since <= (*numbers, 0)[:3] < self.before


NOMAD_SERVERS: Final = (
    Fault(
        "a job that is purged before its first evaluation is done makes the servers panic, again at every start",
        "no server evaluates anything until it is repaired by hand; running tasks go on",
        "by hand, purge a job only when `nomad job status` shows its evaluation as complete; `pulumi destroy` waits",
        "docs/runbook.md#nomads-servers-panic",
        since=(1, 11, 2),
        before=(1, 11, 4),
    ),
)
"""Seen by running them; 2.0.5 has it not. Those of Nomad's changelog are in nomad_stateful/nomad/versions.py."""

NOMAD_PER_ALLOC: Final = (
    Fault(
        "where one volume of a set cannot be placed, its consumer's other allocations are not placed either (GH-28285)",
        "a set of volumes is as available as its least available one",
        "upgrade the servers to 2.0.6 or newer; until then find the volume by `nomad-stateful explain`",
        "https://github.com/hashicorp/nomad/issues/28285",
        before=(2, 0, 6),
    ),
)
"""Of stacks with sets of volumes (`volumes[].count`)."""

DOCKER: Final = (
    Fault(
        "it knows no cgroups v2",
        "on a current AMI a container of it does not start",
        "upgrade docker to 20.10 or newer",
        "https://docs.docker.com/engine/release-notes/20.10/",
        before=(20, 10, 0),
    ),
)
