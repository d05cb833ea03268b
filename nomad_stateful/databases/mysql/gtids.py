"""GTIDs, MySQL's names of transactions, and sets of them.

https://dev.mysql.com/doc/refman/8.4/en/replication-gtids-concepts.html
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

# From the first number up to, and without, the second.
_Interval = tuple[int, int]
_SOURCE = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TAG = re.compile(r"[a-z_][a-z0-9_]{0,31}")
_NUMBERS = re.compile(r"([0-9]{1,19})(?:-([0-9]{1,19}))?")
_END = (1 << 63) - 1


class GtidError(ValueError):
    """A text is no set of GTIDs; the text is the whole message."""


class Origin(NamedTuple):
    """Whose numbers they are: each source counts for itself, and for each of its tags."""

    source: uuid.UUID
    """The server that committed first."""
    tag: str = ""
    """Of MySQL 8.4 and newer; "" without one."""


class Gtid(NamedTuple):
    """One transaction."""

    origin: Origin
    number: int

    def __str__(self) -> str:
        return ":".join(filter(None, (str(self.origin.source), self.origin.tag, str(self.number))))


@dataclass(frozen=True)
class GtidSet:
    """A set of GTIDs, of any number of sources, with any holes in their numbers."""

    _intervals: Mapping[Origin, tuple[_Interval, ...]]

    def __init__(self, intervals: Mapping[Origin, Iterable[_Interval]] | None = None) -> None:
        """Takes intervals in any order, which may overlap; each is up to, and without, its second number."""
        merged = {origin: _merged(some) for origin, some in sorted((intervals or {}).items())}
        object.__setattr__(self, "_intervals", {origin: some for origin, some in merged.items() if some})

    @classmethod
    def parse(cls, text: str) -> GtidSet:
        """Reads MySQL's notation, such as UUID:1-5:9:TAG:3,UUID:1. Raises GtidError."""
        intervals: dict[Origin, list[_Interval]] = {}
        for part in filter(None, (part.strip() for part in text.lower().split(","))):
            source, *words = (word.strip() for word in part.split(":"))
            if not _SOURCE.fullmatch(source):
                raise GtidError(f"{source[:40]!r} is not a server's UUID")
            origin, numbers = Origin(uuid.UUID(source)), 0
            for word in words:
                if _TAG.fullmatch(word):
                    origin = Origin(origin.source, word)
                    continue
                intervals.setdefault(origin, []).append(_interval(word))
                numbers += 1
            if not numbers:
                raise GtidError(f"{part[:80]!r} has no numbers")
        return cls(intervals)

    def __str__(self) -> str:
        """Returns MySQL's notation on one line; equal sets are equal texts."""
        sources: dict[uuid.UUID, list[str]] = {}
        for origin, intervals in self._intervals.items():
            words = sources.setdefault(origin.source, [str(origin.source)])
            words += [origin.tag] * bool(origin.tag)
            words += [f"{first}-{end - 1}" if end - first > 1 else f"{first}" for first, end in intervals]
        return ",".join(":".join(words) for words in sources.values())

    def __bool__(self) -> bool:
        return bool(self._intervals)

    def __len__(self) -> int:
        return sum(end - first for some in self._intervals.values() for first, end in some)

    def __hash__(self) -> int:
        return hash(tuple(self._intervals.items()))

    def __contains__(self, gtid: Gtid) -> bool:
        return any(first <= gtid.number < end for first, end in self._intervals.get(gtid.origin, ()))

    def __or__(self, other: GtidSet) -> GtidSet:
        origins = self._intervals.keys() | other._intervals.keys()
        return GtidSet({origin: (*self._of(origin), *other._of(origin)) for origin in origins})

    def __sub__(self, other: GtidSet) -> GtidSet:
        return GtidSet({origin: _without(some, other._of(origin)) for origin, some in self._intervals.items()})

    def __and__(self, other: GtidSet) -> GtidSet:
        return self - (self - other)

    def __le__(self, other: GtidSet) -> bool:
        """Returns whether the other set has all of this one."""
        return not self - other

    def _of(self, origin: Origin) -> tuple[_Interval, ...]:
        return self._intervals.get(origin, ())


class GtidSetBuilder:
    """A set that grows by one transaction at a time, as a log does."""

    def __init__(self, gtids: Iterable[Gtid] = ()) -> None:
        self._intervals: dict[Origin, list[_Interval]] = {}
        self.extend(gtids)

    def extend(self, gtids: Iterable[Gtid]) -> None:
        """Adds some; most often each is its origin's next number."""
        for gtid in gtids:
            some = self._intervals.setdefault(gtid.origin, [])
            if some and some[-1][1] == gtid.number:
                some[-1] = (some[-1][0], gtid.number + 1)
            else:
                some.append((gtid.number, gtid.number + 1))

    def build(self) -> GtidSet:
        """Returns the set as it is now."""
        return GtidSet(self._intervals)


def _interval(word: str) -> _Interval:
    found = _NUMBERS.fullmatch(word)
    if found is None:
        raise GtidError(f"{word[:40]!r} is neither a tag nor numbers such as 1-5")
    first, last = int(found[1]), int(found[2] or found[1])
    if not 1 <= first <= last < _END:
        raise GtidError(f"{word!r} is not from a number to a higher one, between 1 and {_END - 1}")
    return first, last + 1


def _merged(intervals: Iterable[_Interval]) -> tuple[_Interval, ...]:
    merged: list[_Interval] = []
    for first, end in sorted(intervals):
        if merged and first <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        elif first < end:
            merged.append((first, end))
    return tuple(merged)


def _without(intervals: Iterable[_Interval], others: Iterable[_Interval]) -> list[_Interval]:
    """Returns what is left of merged intervals without others, which are merged too."""
    left: list[_Interval] = []
    removed = iter(others)
    other = next(removed, None)
    for first, end in intervals:
        begin = first
        while other is not None and other[0] < end:
            left.append((begin, min(other[0], end)))
            begin = max(begin, other[1])
            if other[1] > end:
                break
            other = next(removed, None)
        left.append((begin, end))
    return [(first, end) for first, end in left if first < end]
