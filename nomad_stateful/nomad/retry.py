"""Retries of a request that failed with a transient error: which errors count, for how long, with which backoff."""

from __future__ import annotations

import math
import random
import threading
import time
from dataclasses import dataclass, field

FIRST_BACKOFF_S = 0.25
MAX_BACKOFF_S = 5.0
RETRY_LIMIT_S = 30.0
"""The plugins' limit: longer than an election and a server's restart."""
FIRST_ANSWER_S = 8.0
"""The limit for a server that has never answered: its address may be wrong."""
_TRANSIENT_STATUSES = frozenset({429, 502, 503, 504})
# Nomad also passes a driver's final refusal on as a 500: only these are about Nomad itself. It has no path to the
# client of a controller that it lost, until it calls that client down and asks another one.
_TRANSIENT_TEXTS = (
    "no cluster leader",
    "not the leader",
    "leadership lost",
    "no path to region",
    "no path to node",
    "failed to get conn",
    "rpc error: eof",
    "connection refused",
    "connection reset",
    "broken pipe",
    "i/o timeout",
)


def is_transient_answer(status: int, text: str) -> bool:
    """Returns whether an HTTP answer of Nomad tells of an election, a restarting server, or too many requests."""
    lowered = text.lower()
    return status in _TRANSIENT_STATUSES or (status == 500 and any(part in lowered for part in _TRANSIENT_TEXTS))


class Backoff:
    """Exponential backoff with jitter: waits that double, each cut to between half and all of it by chance."""

    def __init__(self, first_s: float | None = None, max_s: float = MAX_BACKOFF_S) -> None:
        self._first_s = FIRST_BACKOFF_S if first_s is None else first_s
        self._max_s = max_s
        self._next_s = self._first_s

    def next(self) -> float:
        """Returns the next wait, in seconds."""
        wait_s = self._next_s
        self._next_s = min(wait_s * 2, self._max_s)
        return wait_s * random.uniform(0.5, 1)  # noqa: S311 - jitter, not secrecy

    def reset(self) -> None:
        """Starts over, after a success."""
        self._next_s = self._first_s


@dataclass(frozen=True)
class RetryPolicy:
    """Seconds from a request's first attempt to its last, and the event that ends the retries early."""

    limit_s: float = 0.0
    cancelled: threading.Event = field(default_factory=threading.Event)

    def attempts(self) -> Attempts:
        """Returns the attempts of one request, counted from now."""
        return Attempts(self)


class Attempts:
    """The attempts of one request."""

    def __init__(self, policy: RetryPolicy) -> None:
        self._policy = policy
        self._began = time.monotonic()
        self._backoff = Backoff()

    def another(self, at_least_s: float = 0.0, limit_s: float = math.inf) -> bool:
        """Waits, and returns True, if there is time for another attempt; `at_least_s` is what the server asked for."""
        wait_s = max(self._backoff.next(), at_least_s)
        if time.monotonic() + wait_s > self._began + min(self._policy.limit_s, limit_s):
            return False
        return not self._policy.cancelled.wait(wait_s)
