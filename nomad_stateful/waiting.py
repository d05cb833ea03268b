"""Every wait: for an answer (Progress.wait), for another attempt (Attempts), for ever (repeat), for a call's end."""

from __future__ import annotations

import math
import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from nomad_stateful.errors import ProviderError

Severity = Literal["debug", "info", "warning", "error"]
LogSink = Callable[[Severity, str, str, bool], None]  # severity, message, urn, ephemeral
T = TypeVar("T")

CANCEL_POLL_S = 0.2
FIRST_BACKOFF_S = 0.25
MAX_BACKOFF_S = 5.0


def _no_log(_severity: Severity, _message: str, _urn: str, _ephemeral: bool) -> None:
    return None


@dataclass(frozen=True)
class Context:
    """One call's circumstances: whose it is, how long it may take, whether it was cancelled, where progress goes."""

    cancelled: threading.Event = field(default_factory=threading.Event)
    timeout_s: float | None = None
    urn: str = ""
    name: str = ""
    random_seed: bytes = b""
    ignore_changes: list[str] = field(default_factory=list)
    sink: LogSink = _no_log

    def log(self, severity: Severity, message: str, ephemeral: bool = False) -> None:
        """Shows a message at the resource; an ephemeral one only as its current status line."""
        self.sink(severity, message, self.urn, ephemeral)

    def wait(self, seconds: float) -> None:
        """Sleeps. Raises ProviderError as soon as the operation is cancelled."""
        if self.cancelled.wait(max(0.0, seconds)):
            raise ProviderError("cancelled")

    def call(self, function: Callable[[], T], grace_s: float = 0) -> T:
        """Returns the function's result. Raises ProviderError when the operation is cancelled.

        The function goes on running. What was begun has `grace_s` seconds to end after the cancel.
        """
        results: list[T] = []
        errors: list[BaseException] = []
        done = threading.Event()

        def run() -> None:
            try:
                results.append(function())
            except BaseException as error:  # noqa: BLE001 - handed to the caller's thread
                errors.append(error)
            finally:
                done.set()

        self.wait(0)
        threading.Thread(target=run, daemon=True).start()
        while not done.wait(CANCEL_POLL_S):
            if self.cancelled.is_set() and not done.wait(grace_s):
                self.wait(0)
        if errors:
            raise errors[0]
        return results[0]


class Stopwatch:
    """Seconds since it was made or begun anew, by a clock that nobody sets."""

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Begins anew."""
        self._began = time.monotonic()

    @property
    def seconds(self) -> float:
        """Seconds since then."""
        return time.monotonic() - self._began


@dataclass(frozen=True)
class Pending:
    """What is waited for still, and how it is now."""

    what: str
    error: str = ""
    """The transient error that kept it from an answer."""
    again_s: float | None = None
    """When to look again, where that is not at the wait's interval."""

    def __str__(self) -> str:
        return f"{self.what} ({self.error})" if self.error else self.what


class Progress:
    """A limit, and what is waited for: each change is an ephemeral status, and at intervals a log line."""

    INTERVAL_S = 5.0
    REPEAT_S = 30.0

    def __init__(self, ctx: Context, limit_s: float, repeat_s: float = REPEAT_S) -> None:
        """Takes also how long the same status is not repeated."""
        self.ctx = ctx
        self.limit_s = limit_s
        self._repeat_s = repeat_s
        self._since_begin = Stopwatch()
        self._since_log = Stopwatch()
        self._logged = ""
        self._status = ""

    def restart(self) -> None:
        """Has the limit count from now: for the next one of several."""
        self._since_begin.restart()

    @property
    def elapsed_s(self) -> float:
        """How much of the limit is over."""
        return self._since_begin.seconds

    @property
    def left_s(self) -> float:
        """How much of the limit is left; negative once it is over."""
        return self.limit_s - self.elapsed_s

    def wait(self, look: Callable[[], T | Pending], every_s: float) -> T | Pending:
        """Looks until there is an answer, and reports meanwhile what is pending; at the limit it returns that."""
        while isinstance(found := look(), Pending):
            if self.left_s <= 0:
                return found
            self.report(str(found))
            self.ctx.wait(every_s if found.again_s is None else found.again_s)
        return found

    def report(self, status: str) -> None:
        """Shows a status if it has changed, or has not been logged for a while."""
        timed = f"{status} ({self.elapsed_s:.0f} s of at most {self.limit_s:.0f} s)"
        if self._since_log.seconds >= (self._repeat_s if status == self._logged else self.INTERVAL_S):
            self.ctx.log("info", timed)
            self._logged = status
            self._since_log.restart()
        elif status != self._status:
            self.ctx.log("info", timed, ephemeral=True)
        self._status = status


def repeat(once: Callable[[], float | None], ended: threading.Event | None = None, first_s: float = 0.0) -> None:
    """Does something for ever: again after as many seconds as it returns, until it returns None or the event is set."""
    ended = ended or threading.Event()
    pause_s: float | None = first_s
    while pause_s is not None and not ended.wait(pause_s):
        pause_s = once()


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
    pauses_s: Sequence[float] | None = None
    """The pause before each further attempt, for as many attempts; by default they double (Backoff)."""

    def attempts(self) -> Attempts:
        """Returns the attempts of one request, counted from now."""
        return Attempts(self)


class Attempts:
    """The attempts of one request."""

    def __init__(self, policy: RetryPolicy) -> None:
        self._policy = policy
        self._since_first = Stopwatch()
        self._backoff = Backoff()
        self._pauses = None if policy.pauses_s is None else iter(policy.pauses_s)

    def another(self, at_least_s: float = 0.0, limit_s: float = math.inf) -> bool:
        """Waits, and returns True, if there is time for another attempt; `at_least_s` is what the server asked for."""
        pause_s = self._backoff.next() if self._pauses is None else next(self._pauses, math.inf)
        wait_s = max(pause_s, at_least_s)
        if wait_s == math.inf or self._since_first.seconds + wait_s > min(self._policy.limit_s, limit_s):
            return False
        return not self._policy.cancelled.wait(wait_s)
