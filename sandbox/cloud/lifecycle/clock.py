"""The clock that snapshots are taken by, which can be moved forward."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta


def _wall_clock() -> datetime:
    return datetime.now(UTC)


class Clock:
    """The machine's time, and what it was moved forward by."""

    def __init__(self, time: Callable[[], datetime] = _wall_clock) -> None:
        self._time = time
        self._ahead = timedelta()

    def now(self) -> datetime:
        """Returns the moment, in UTC."""
        return self._time() + self._ahead

    def forward(self, by: timedelta) -> None:
        """Moves it forward. Raises ValueError for a step back: what was done then would be done again."""
        if by < timedelta():
            raise ValueError("the clock moves forward only")
        self._ahead += by
