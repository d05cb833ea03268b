"""When a schedule is due: cron expressions in AWS's notation, of which the stack writes numbers, lists and ranges.

https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html#cron-based
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

_FIELDS: Final = (range(60), range(24), range(1, 32), range(1, 13), range(1, 8))
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
        return hour.hour in self.hours and on_day and hour.month in self.months


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
    if fields[5] != "*":
        raise ValueError(f"{expression}: the sandbox knows no years: write *")
    values = [_field(text, every) for text, every in zip(fields[:5], _FIELDS, strict=True)]
    if len(values[0]) > 1:
        raise ValueError(f"{expression}: the interval is at least an hour")
    return Times(*values)


def _field(text: str, every: range) -> frozenset[int]:
    """Returns the numbers of a field, which names numbers and ranges of them."""
    if text in _EVERY:
        return frozenset(every)
    found: set[int] = set()
    for entry in text.split(","):
        if not re.fullmatch(r"\d+(-\d+)?", entry):
            raise ValueError(f"{entry} is no number and no range (the sandbox knows no names, /, L, W and #)")
        first, _, last = entry.partition("-")
        begin, end = int(first), int(last or first)
        if not every[0] <= begin <= end <= every[-1]:
            raise ValueError(f"{entry} is not from {every[0]} to {every[-1]}")
        found |= set(range(begin, end + 1))
    return frozenset(found)
