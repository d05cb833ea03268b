"""How long a call may wait, whether it was cancelled, and where its progress goes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from nomad_stateful.errors import ProviderError

Severity = Literal["debug", "info", "warning", "error"]
LogSink = Callable[[Severity, str, str, bool], None]  # severity, message, urn, ephemeral
T = TypeVar("T")

CANCEL_POLL_S = 0.2


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

    def deadline(self, default_s: float) -> float:
        """Returns the moment, on time.monotonic()'s clock, at which the operation's time is up."""
        return time.monotonic() + (self.timeout_s or default_s)


class Progress:
    """Reports what is waited for: each change as an ephemeral status, and at intervals as a log line."""

    INTERVAL_S = 5.0
    REPEAT_S = 30.0

    def __init__(self, ctx: Context, limit_s: float) -> None:
        self.ctx = ctx
        self.limit_s = limit_s
        self._started = time.monotonic()
        self._logged_at = self._started
        self._logged = ""
        self._status = ""

    @property
    def elapsed_s(self) -> float:
        return time.monotonic() - self._started

    @property
    def left_s(self) -> float:
        """How much of the limit is left; negative once it is over."""
        return self.limit_s - self.elapsed_s

    def report(self, status: str) -> None:
        """Shows a status if it has changed."""
        now = time.monotonic()
        timed = f"{status} ({self.elapsed_s:.0f} s of at most {self.limit_s:.0f} s)"
        if now - self._logged_at >= (self.REPEAT_S if status == self._logged else self.INTERVAL_S):
            self.ctx.log("info", timed)
            self._logged, self._logged_at = status, now
        elif status != self._status:
            self.ctx.log("info", timed, ephemeral=True)
        self._status = status
