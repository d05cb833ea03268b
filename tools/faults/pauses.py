"""The longest time in which a writer got no commit acknowledged."""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from tools.faults.background import Background
from tools.faults.writer import Writer

_PERIOD_S: Final = 0.02


@dataclass(frozen=True)
class Spread:
    """How long pauses were, in seconds."""

    median: float
    p99: float
    """That 99 of 100 are shorter than."""
    longest: float
    after: float
    """When the longest began, from the fault on."""
    stall: float = 0
    """For how long at most whoever measures stood still too: a pause as long may be the machine's."""


class Pauses(Background):
    """Looks fifty times a second whether the writer got on, while it is entered."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        super().__init__("pauses", self._work)
        self._seen: list[tuple[float, int]] = []
        """When how many rows were acknowledged, at each change."""
        self._stall_s = 0.0

    def __enter__(self) -> Pauses:
        self._seen.append(self._now())
        self.begin()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
        self._seen.append(self._now())

    @property
    def longest_s(self) -> float:
        """The longest pause."""
        return max(later - at for (at, _), (later, _) in pairwise(self._seen))

    def spread(self, since: float) -> Spread:
        """How long the pauses were, and when after a moment (monotonic) the longest began."""
        pauses = sorted((later - at, at) for (at, _), (later, _) in pairwise(self._seen))
        median, p99, (longest, at) = (pauses[int(part * (len(pauses) - 1))] for part in (0.5, 0.99, 1))
        stall_s = round(self._stall_s, 2)
        return Spread(round(median[0], 2), round(p99[0], 2), round(longest, 2), round(at - since, 1), stall_s)

    def when(self, number: int) -> float:
        """When so many rows were there for the first time (monotonic)."""
        return next(at for at, count in self._seen if count >= number)

    def _now(self) -> tuple[float, int]:
        return time.monotonic(), len(self._writer.acknowledged)

    def _work(self) -> None:
        looked = time.monotonic()
        while not self.ending.wait(_PERIOD_S):
            now = self._now()
            self._stall_s, looked = max(self._stall_s, now[0] - looked - _PERIOD_S), now[0]
            if now[1] != self._seen[-1][1]:
                self._seen.append(now)
