"""Times of day in cron's notation, as Nomad's parser reads them.

Nomad takes some that it then reads otherwise: a range that runs backwards holds nothing, one that ends in Sunday lacks
it.
https://github.com/hashicorp/cronexpr
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from nomad_stateful.program.settings.errors import Refusal

_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
_LONGEST_MONTHS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_STEP = re.compile(r"(?P<range>[^/]+)/(?P<step>[0-9]{1,2})")


@dataclass(frozen=True)
class _Field:
    """One of the five fields."""

    name: str
    low: int
    high: int
    names: Mapping[str, int] = field(default_factory=dict)
    special: str = r"(?!)"
    """What else stands for days."""


_FIELDS = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day of the month", 1, 31, special=r"(?P<day>[0-9]{1,2})w|l|lw"),
    _Field("month", 1, 12, {name: number for number, name in enumerate(_MONTHS, 1)}),
    _Field("day of the week", 0, 6, {name: number for number, name in enumerate(_DAYS)}, r"[0-6](l|#[1-5])"),
)


_WRITTEN_OUT = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
}


def check(text: str) -> str:
    """Returns the schedule; raises Refusal for one that Nomad refuses, misreads or never comes to."""
    if text in _WRITTEN_OUT:
        return text
    fields = text.split(" ")
    if len(fields) != len(_FIELDS):
        raise Refusal("", text, "must be five fields as for cron, such as 0 3 * * *", "write all five")
    values = []
    for known, written in zip(_FIELDS, fields, strict=True):
        found = [_values(known, entry.lower()) for entry in written.split(",")]
        if None in found:
            raise Refusal("", text, f"{written} is not a valid {known.name}", _remedy(known))
        values.append(set().union(*(one or () for one in found)))
    if not _ever(values[2], values[3], weekdays=fields[4] not in ("*", "?")):
        raise Refusal("", text, "there is no such day in these months, so nothing would ever run", "correct the day")
    return text


def values(text: str) -> list[set[int]] | None:
    """Returns the numbers of each field of a checked schedule; None where a field has days that are not numbers."""
    fields = _WRITTEN_OUT.get(text, text).lower().split(" ")
    if any(
        re.fullmatch(known.special, entry)
        for known, one in zip(_FIELDS, fields, strict=True)
        for entry in one.split(",")
    ):
        return None
    return [
        set().union(*(_values(known, entry) or () for entry in one.split(",")))
        for known, one in zip(_FIELDS, fields, strict=True)
    ]


def _values(known: _Field, entry: str) -> set[int] | None:
    """Returns the numbers that an entry stands for; None when it stands for none."""
    if special := re.fullmatch(known.special, entry):
        day = special.groupdict().get("day")
        return {int(day)} if day and known.low <= int(day) <= known.high else None if day else {known.low}
    stepped = _STEP.fullmatch(entry)
    step = int(stepped["step"]) if stepped else 1
    low, high = _range(known, stepped["range"] if stepped else entry, open_ended=stepped is not None)
    if low is None or high is None or low > high or not 1 <= step <= known.high:
        return None
    return set(range(low, high + 1, step))


def _range(known: _Field, text: str, *, open_ended: bool) -> tuple[int | None, int | None]:
    if text in ("*", "?") and not (text == "?" and open_ended):
        return known.low, known.high
    first, dash, last = text.partition("-")
    low = _number(known, first)
    return low, _number(known, last) if dash else known.high if open_ended else low


def _number(known: _Field, text: str) -> int | None:
    number = known.names.get(text, int(text) if re.fullmatch(r"[0-9]|[1-5][0-9]", text) else -1)
    return number if known.low <= number <= known.high else None


def _ever(days: set[int], months: set[int], *, weekdays: bool) -> bool:
    """Returns whether one of the months has one of the days; a weekday counts instead of a day."""
    return weekdays or min(days) <= max(_LONGEST_MONTHS[month - 1] for month in months)


def _remedy(known: _Field) -> str:
    names = f", or {next(iter(known.names))} and the like" if known.names else ""
    return f"use numbers from {known.low} to {known.high}{names}, ranges from low to high, and steps such as */2"
