"""What was measured of one failover, and the phases it is made of."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from tools import markdown
from tools.bench import rows

NOT_SEEN = -1.0
PHASES = (
    ("detection", "down_s"),
    ("wait", "placed_s"),
    ("claim", "released_s"),
    ("detach", "detached_s"),
    ("attach", "attached_s"),
    ("start", "started_s"),
    ("recovery", "acknowledged_s"),
)
"""Each phase, and the moment that it ends with; it begins with the latest of those before."""
SETTINGS = {
    "earlier": "2m and 60s, the earlier defaults",
    "defaults": "1m and 30s, the defaults",
    "short": "30s and 10s",
    "watched": "the defaults, `nomad-stateful failover`",
    "fenced": "the defaults, `nomad-stateful failover --fence`",
    "deployed": "the defaults, `failover` in the settings",
    "deployed-fenced": "the defaults, `failover` with `fence: true`",
}
"""What was measured with, in the order of the page."""
LOSSES = ("terminated", "stopped", "cut off", "agent dead")


@dataclass(frozen=True)
class Failover:
    """One loss. Moments are in seconds since it, NOT_SEEN where they were not seen."""

    settings: str
    loss: str
    repetition: int
    off_s: float
    """EC2 says that the instance is stopped or terminated."""
    unmounted_s: float
    """The lost instance no longer has the volume mounted."""
    down_s: float
    """Nomad calls the client down, and its allocation lost."""
    placed_s: float
    """Nomad has made another allocation."""
    released_s: float
    """The lost allocation's claim is gone."""
    detached_s: float
    """EC2 has the volume attached to the lost instance no more."""
    attached_s: float
    """EC2 has it attached to another instance."""
    started_s: float
    """MySQL's task has started there."""
    acknowledged_s: float
    """The first row is acknowledged there."""
    lost_rows: int
    """Rows that were acknowledged and are not there."""
    second_writers: int
    """Moments at which two instances had the volume mounted."""
    detached_while_mounted: int
    """Attachments that EC2 was asked to end while the volume was mounted."""

    def phases(self) -> list[tuple[str, float]]:
        """The phases with their seconds; together they are the time to the first row."""
        found, before = [], 0.0
        for name, moment in PHASES:
            at = max(before, getattr(self, moment))
            found.append((name, at - before))
            before = at
        return found


def of(measured: Iterable[Failover], settings: str, loss: str) -> list[Failover]:
    """What was measured of one loss with one kind of settings."""
    return [one for one in measured if (one.settings, one.loss) == (settings, loss)]


def told(measured: Sequence[Failover], value: Callable[[Failover], float]) -> str:
    """Median, and least to most where there are several."""
    values = [value(one) for one in measured]
    spread = f" ({min(values):.1f} to {max(values):.1f})" if len(values) > 1 else ""
    return f"{statistics.median(values):.1f}{spread}"


def path(folder: Path, settings: str) -> Path:
    """Where what was measured with these settings is kept."""
    return folder / f"failover-{settings}.csv"


def write(folder: Path, settings: str, measured: Iterable[Failover]) -> None:
    """As CSV, one line for each loss."""
    rows.write(path(folder, settings), Failover, measured, digits=2)


def read(folder: Path) -> list[Failover]:
    """What was measured with any settings, in the order of the page."""
    return [one for settings in SETTINGS for one in rows.read(path(folder, settings), Failover)]


def title(settings: str, loss: str) -> str:
    """What a loss was measured with; of an agent that is dead also who stops its instance."""
    by_hand = loss == "agent dead" and settings != "fenced"
    return f"{SETTINGS[settings]}{'; fenced by hand' if by_hand else ''}"


def table(measured: Sequence[Failover]) -> str:
    """A line for each loss and kind of settings: time to the first row, its phases, and what must not happen."""
    names = [name for name, _ in PHASES]
    head = ["lost", "with", "n", "first row, s", *names, "rows lost", "second writers"]
    groups = [(loss, settings, of(measured, settings, loss)) for loss in LOSSES for settings in SETTINGS]
    return markdown.table(
        head,
        [
            [loss, title(settings, loss), str(len(found)), *_times(found), *_faults(found)]
            for loss, settings, found in groups
            if found
        ],
    )


def medians(found: Sequence[Failover]) -> list[tuple[str, float]]:
    """The median of each phase."""
    names = [name for name, _ in PHASES]
    return [(name, statistics.median(dict(one.phases())[name] for one in found)) for name in names]


def _times(found: Sequence[Failover]) -> list[str]:
    return [f"**{told(found, lambda one: one.acknowledged_s)}**", *(f"{seconds:.1f}" for _, seconds in medians(found))]


def _faults(found: Sequence[Failover]) -> list[str]:
    return [str(sum(one.lost_rows for one in found)), str(sum(one.second_writers for one in found))]


MOMENTS = tuple(field.name for field in fields(Failover) if field.name.endswith("_s"))
