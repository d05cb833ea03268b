"""Raw samples, kept as CSV, and what is computed of them."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

OK = "ok"


@dataclass(frozen=True)
class Sample:
    """One measured duration, or one that failed."""

    case: str
    """What was done: up, destroy, preview…"""
    contender: str
    """Who did it: floor, plain, ours…"""
    measure: str
    """What the time is of: answering, command, or the name of a phase or step."""
    repetition: int
    """From 1, the same for all that ran side by side."""
    seconds: float
    """How long it took; of a failed one, when it was given up."""
    outcome: str = OK
    """`ok`, or what went wrong."""


@dataclass(frozen=True)
class Summary:
    """What is said of several samples; seconds. Without a good sample there are no times."""

    count: int
    failed: int
    median: float | None
    least: float | None
    most: float | None


def summary(samples: Iterable[Sample]) -> Summary:
    """Median and spread of the good ones, and how many were not."""
    known = list(samples)
    good = [sample.seconds for sample in known if sample.outcome == OK]
    if not good:
        return Summary(0, len(known), None, None, None)
    return Summary(len(good), len(known) - len(good), statistics.median(good), min(good), max(good))


def ratio(samples: Sequence[Sample], over: Sequence[Sample]) -> float | None:
    """Median over median; None where one has no good sample."""
    upper, lower = summary(samples).median, summary(over).median
    return None if upper is None or not lower else upper / lower


def select(samples: Iterable[Sample], case: str, contender: str, measure: str) -> list[Sample]:
    """The samples of one thing."""
    wanted = (case, contender, measure)
    return [sample for sample in samples if (sample.case, sample.contender, sample.measure) == wanted]
