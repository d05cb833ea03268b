"""How long a request that failed for a passing reason is tried again, and with which pauses."""

from __future__ import annotations

import math
import random
import threading
import time
from dataclasses import dataclass, field

FIRST_PAUSE_S = 0.25
LONGEST_PAUSE_S = 5.0
PATIENCE_S = 30.0
"""Of the plugins: longer than an election and a server's restart."""
FIRST_ANSWER_S = 8.0
"""The most for a server that never answered: its address may be wrong."""
_PASSING_STATUSES = frozenset({429, 502, 503, 504})
# A 500 is also how Nomad passes on what a driver refused for good: only these are about the servers themselves.
_PASSING_TEXTS = (
    "no cluster leader",
    "not the leader",
    "leadership lost",
    "no path to region",
    "failed to get conn",
    "rpc error: eof",
    "connection refused",
    "connection reset",
    "broken pipe",
    "i/o timeout",
)


def passing_answer(status: int, text: str) -> bool:
    """Whether an HTTP answer of Nomad's tells of an election, a server that restarts, or too many requests."""
    lowered = text.lower()
    return status in _PASSING_STATUSES or (status == 500 and any(part in lowered for part in _PASSING_TEXTS))


class Pauses:
    """Pauses that double, each cut by chance to between half and all of it, so that clients do not come back as one."""

    def __init__(self, first_s: float | None = None, longest_s: float = LONGEST_PAUSE_S) -> None:
        self._first_s = FIRST_PAUSE_S if first_s is None else first_s
        self._longest_s = longest_s
        self._next_s = self._first_s

    def next(self) -> float:
        """The next pause, in seconds."""
        pause_s = self._next_s
        self._next_s = min(pause_s * 2, self._longest_s)
        return pause_s * random.uniform(0.5, 1)  # noqa: S311 - chance, not secrecy

    def reset(self) -> None:
        """Starts over, after a success."""
        self._next_s = self._first_s


@dataclass(frozen=True)
class Patience:
    """Seconds from a request's first try to its last, and what ends them early."""

    limit_s: float = 0.0
    cancelled: threading.Event = field(default_factory=threading.Event)

    def starts(self) -> Attempts:
        """For one request, from now."""
        return Attempts(self)


class Attempts:
    """The tries of one request."""

    def __init__(self, patience: Patience) -> None:
        self._patience = patience
        self._began = time.monotonic()
        self._pauses = Pauses()

    def another(self, at_least_s: float = 0.0, limit_s: float = math.inf) -> bool:
        """Whether there is time for another try; waits before it. `at_least_s` is what the server asked for."""
        pause_s = max(self._pauses.next(), at_least_s)
        if time.monotonic() + pause_s > self._began + min(self._patience.limit_s, limit_s):
            return False
        return not self._patience.cancelled.wait(pause_s)
