"""Whether a series grows: by its levels and its slope, and within the life of each of its processes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import inf
from statistics import median
from typing import Final, Literal

WARM_UP: Final = 0.25
"""The part of a soak that is not judged."""
_YOUNG: Final = 0.1
"""How old a process has to be, as a part of the soak: until then it takes what it will keep."""
_FEWEST: Final = 3
"""Samples that a quarter has to have."""
_PAIRS: Final = 30
"""Pairs of samples of the same processes, with which their slope counts."""
_OF_LEVEL: Final = 0.1
"""Of a series' level: slack beside the absolute one."""

Word = Literal["level", "grows", "over its keep", "by design", "few samples", "not seen"]


@dataclass(frozen=True)
class Point:
    """A sample: seconds since the soak began, the value, and which processes it is of."""

    at: float
    value: float
    pids: tuple[int, ...] = ()


@dataclass(frozen=True)
class Bounds:
    """What a series may do."""

    slack: float
    keep: float | None = None
    """The retention that is configured: what it keeps is judged by this alone."""
    design: str = ""
    """Why it grows by design."""


@dataclass(frozen=True)
class Judged:
    """A series and what came of it."""

    name: str
    word: Word
    early: float = 0.0
    """Median of the soak's second quarter."""
    late: float = 0.0
    """Median of its last quarter."""
    growth: float = 0.0
    """In half of the soak: between those two, or as the processes of the series grow."""
    slack: float = 0.0
    note: str = ""

    @property
    def wrong(self) -> bool:
        """Whether the soak fails by it."""
        return self.word in {"grows", "over its keep", "not seen"}


def judged(name: str, points: Sequence[Point], length_s: float, bounds: Bounds) -> Judged:
    """The verdict over the samples of a soak of that length."""
    quarters = _between(points, length_s / 4, length_s / 2), _between(points, length_s * 3 / 4)
    early, late = (median(values) if values else 0.0 for values in quarters)
    if bounds.keep is not None:
        top = max((one.value for one in points), default=0.0)
        word: Word = "not seen" if not points else "level" if top <= bounds.keep else "over its keep"
        return Judged(name, word, early, late, note=f"{top:g} at most, keep {bounds.keep:g}")
    if min(map(len, quarters)) < _FEWEST:
        return Judged(name, "few samples", early, late)
    warm = [one for one in points if one.at >= WARM_UP * length_s]
    # A level that rose and a slope that is flat, or the other way round, are no growth.
    whole = min(late - early, median(_slopes(combinations(warm, 2))) * length_s / 2)
    growth, slack = max(whole, _within(points, length_s)), max(bounds.slack, _OF_LEVEL * early)
    word = "level" if growth <= slack else "by design" if bounds.design else "grows"
    return Judged(name, word, early, late, growth, slack, bounds.design if word == "by design" else "")


def _between(points: Sequence[Point], begin_s: float, end_s: float = inf) -> list[float]:
    return [one.value for one in points if begin_s <= one.at < end_s]


def _within(points: Sequence[Point], length_s: float) -> float:
    """Growth of processes while they live, whatever a restart takes off; 0 where few live for long."""
    born: dict[tuple[int, ...], float] = {}
    for one in points:
        born.setdefault(one.pids, one.at)
    grown = [one for one in points if one.at >= max(WARM_UP * length_s, born[one.pids] + _YOUNG * length_s)]
    slopes = _slopes((one, other) for one, other in combinations(grown, 2) if one.pids == other.pids)
    return median(slopes) * length_s / 2 if len(slopes) >= _PAIRS and len(born) > 1 else 0.0


def _slopes(pairs: Iterable[tuple[Point, Point]]) -> list[float]:
    """The slope between each two, whose median is that of Theil and Sen."""
    return [(other.value - one.value) / (other.at - one.at) for one, other in pairs if other.at > one.at]
