"""The longest time in which a writer got no commit acknowledged."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Final

from tools.faults.background import Background
from tools.faults.writer import Writer

_PERIOD_S: Final = 0.02


class Pauses:
    """Looks fifty times a second whether the writer got on, while it is entered."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._background = Background("pauses", self._work)
        self._seen: list[tuple[float, int]] = []
        """When how many rows were acknowledged, at each change."""

    def __enter__(self) -> Pauses:
        self._seen.append(self._now())
        self._background.begin()
        return self

    def __exit__(self, *_: object) -> None:
        self._background.end()
        self._seen.append(self._now())

    @property
    def longest_s(self) -> float:
        """The longest pause."""
        return max(later - at for (at, _), (later, _) in pairwise(self._seen))

    def when(self, number: int) -> float:
        """When so many rows were there for the first time (monotonic)."""
        return next(at for at, count in self._seen if count >= number)

    def _now(self) -> tuple[float, int]:
        return time.monotonic(), len(self._writer.acknowledged)

    def _work(self) -> None:
        while not self._background.ending.wait(_PERIOD_S):
            if (now := self._now())[1] != self._seen[-1][1]:
                self._seen.append(now)
