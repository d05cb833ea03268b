"""What a run ends with: sentences of suites that our tests ran, and counts; a worker hands its own over."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

_LINES: list[str] = []
_COUNTS: defaultdict[str, Counter[str]] = defaultdict(Counter)


def say(*lines: str) -> None:
    """Keeps lines for the end of the run."""
    _LINES.extend(lines)


def tally(title: str) -> Counter[str]:
    """Counts by name that the run ends with, on one line after the title."""
    return _COUNTS[title]


def handed_over() -> dict[str, Any]:
    """What there is so far, in plain lists and tables."""
    return {"lines": list(_LINES), "counts": {title: dict(counts) for title, counts in _COUNTS.items()}}


def take_over(other: dict[str, Any]) -> None:
    """Adds what another process handed over; what every worker says is said once."""
    _LINES.extend(line for line in other["lines"] if line not in _LINES)
    for title, counts in other["counts"].items():
        _COUNTS[title].update(counts)


def closing_lines() -> list[str]:
    """Everything, as it is printed."""
    counted = {
        title: ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))
        for title, counts in sorted(_COUNTS.items())
        if counts
    }
    return [*_LINES, *(f"{title}: {line}" for title, line in counted.items())]
