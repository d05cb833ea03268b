"""When a schedule is due: cron expressions in AWS's notation.

https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html#cron-based
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

_MONTHS: Final = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_WEEKDAYS: Final = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_EVERY: Final = ("*", "?")
_HOUR: Final = timedelta(hours=1)


@dataclass(frozen=True)
class Times:
    """The minutes, hours and days at which something is due."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    """From 1, which is Sunday."""
    years: frozenset[int]

    def between(self, after: datetime, until: datetime) -> Iterator[datetime]:
        """Yields the moments after one and up to another, in order."""
        hour = after.replace(minute=0, second=0, microsecond=0)
        while hour <= until:
            if self._has(hour):
                for minute in sorted(self.minutes):
                    moment = hour.replace(minute=minute)
                    if after < moment <= until:
                        yield moment
            hour += _HOUR

    def _has(self, hour: datetime) -> bool:
        on_day = hour.day in self.days and hour.isoweekday() % 7 + 1 in self.weekdays
        return hour.hour in self.hours and on_day and hour.month in self.months and hour.year in self.years


def of(rule: Mapping[str, Any]) -> Times:
    """Returns when a CreateRule is due. Raises ValueError saying what is wrong with it."""
    if lacking := sorted(key for key, value in rule.items() if value and key not in ("CronExpression", "Location")):
        raise ValueError(f"the sandbox does not have CreateRule.{lacking[0]}: write a CronExpression")
    return _cron(str(rule.get("CronExpression", "")))


def expiry(start: datetime, rule: Mapping[str, Any]) -> datetime | None:
    """Returns when a snapshot is to be deleted by an age; None where a number is kept."""
    days = rule.get("Interval")
    return start + timedelta(days=days) if days else None


def _cron(expression: str) -> Times:
    found = re.fullmatch(r"cron\(([^\n]{11,100})\)", expression)
    fields = found[1].split(" ") if found else []
    if len(fields) != 6:
        raise ValueError(f"{expression} is not cron(minutes hours day-of-month month day-of-week year)")
    if (fields[2] == "?") == (fields[4] == "?"):
        raise ValueError(f"{expression}: one of day-of-month and day-of-week is ?")
    bounds: list[tuple[int, int, tuple[str, ...]]] = [
        (0, 59, ()), (0, 23, ()), (1, 31, ()), (1, 12, _MONTHS), (1, 7, _WEEKDAYS), (1970, 2199, ()),
    ]  # fmt: skip
    values = [_field(text, *one) for text, one in zip(fields, bounds, strict=True)]
    if len(values[0] or range(60)) > 1:
        raise ValueError(f"{expression}: the interval is at least an hour")
    return _times(values)


def _field(text: str, low: int, high: int, names: tuple[str, ...]) -> set[int] | None:
    """Returns the numbers of a field; None for all."""
    if text in _EVERY:
        return None
    found: set[int] = set()
    for entry in text.split(","):
        span, _, step = entry.partition("/")
        first, _, last = span.partition("-")
        begin = low if first == "*" else _number(first, names)
        end = high if first == "*" or (step and not last) else _number(last or first, names)
        if not low <= begin <= end <= high or (step and not step.isdigit()):
            raise ValueError(f"{entry} is not from {low} to {high}")
        found |= set(range(begin, end + 1, int(step or 1)))
    return found


def _number(text: str, names: tuple[str, ...]) -> int:
    if text.upper() in names:
        return names.index(text.upper()) + 1
    if not text.isdigit():
        raise ValueError(f"{text} is no number (the sandbox knows no L, W and #)")
    return int(text)


def _times(values: list[set[int] | None]) -> Times:
    full = (range(60), range(24), range(1, 32), range(1, 13), range(1, 8), range(1970, 2200))
    return Times(*(frozenset(every if one is None else one) for one, every in zip(values, full, strict=True)))
