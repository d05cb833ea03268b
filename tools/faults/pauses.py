"""The longest time in which a writer got no commit acknowledged."""

from __future__ import annotations

import time
from typing import Final

from tools.faults.background import Background
from tools.faults.writer import Writer

_PERIOD_S: Final = 0.02


class Pauses:
    """Looks fifty times a second whether the writer got on, from `begin` to `end`."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._background = Background("pauses", self._work)
        self._at = 0.0
        self.longest_s = 0.0

    def begin(self) -> None:
        """Starts to look."""
        self._at, self.longest_s = time.monotonic(), 0.0
        self._background.begin()

    def end(self) -> float:
        """Stops, and gives the longest pause."""
        self._background.end()
        return self.longest_s

    def _work(self) -> None:
        before = self._writer.total
        while not self._background.ending.wait(_PERIOD_S):
            now, total = time.monotonic(), self._writer.total
            self.longest_s = max(self.longest_s, now - self._at)
            if total != before:
                before, self._at = total, now
