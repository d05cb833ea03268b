"""Waiting for AWS: polling with a deadline, a cancel that works at once, and progress that says what is waited for."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from nomad_stateful.errors import ProviderError
from nomad_stateful.waiting import Context

T = TypeVar("T")

_FIRST_PAUSE_S: Final = 0.25
_LONGEST_PAUSE_S: Final = 3.0
_QUIET_S: Final = 3.0  # shorter waits are nobody's concern
_REPEAT_S: Final = 30.0


class NotYet(Exception):
    """Raised by a probe: not there yet; the text says how things stand."""


@dataclass(frozen=True)
class Wait:
    """What is waited for ("EBS volume vol-1 to be deleted"), what ends it, and for how long by default, in seconds."""

    what: str
    ends: str
    timeout_s: float


def wait_until(ctx: Context, wait: Wait, probe: Callable[[], T], *, abandon: bool = True) -> T:
    """Returns the probe's result once it raises NotYet no more; ProviderError at the deadline or on cancel.

    A cancel abandons a probe under way, unless `abandon` is false: for a probe that makes something.
    """
    started = time.monotonic()
    budget_s = ctx.timeout_s or wait.timeout_s
    progress = _Progress(ctx, wait, budget_s)
    pause_s = _FIRST_PAUSE_S
    while True:
        try:
            return ctx.call(probe) if abandon else probe()
        except NotYet as pending:
            state = str(pending)
        waited_s = time.monotonic() - started
        if waited_s >= budget_s:
            raise ProviderError(f"timeout after {budget_s:.0f} s while waiting for {wait.what}. Last seen: {state}")
        progress.tell(state, waited_s)
        ctx.wait(min(pause_s, budget_s - waited_s))
        pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)


class _Progress:
    """Says how a wait stands: as a line when something changes or half a minute passes, else as the status line."""

    def __init__(self, ctx: Context, wait: Wait, budget_s: float) -> None:
        now = time.time()
        self._ctx, self._wait = ctx, wait
        self._since = time.strftime("%H:%M:%S", time.localtime(now))
        self._until = time.strftime("%H:%M:%S", time.localtime(now + budget_s))
        self._told = ""
        self._told_at_s = 0.0

    def tell(self, state: str, waited_s: float) -> None:
        if waited_s < _QUIET_S:
            return
        line = f"waiting for {self._wait.what} since {self._since} ({waited_s:.0f} s): {state}. "
        line += f"Ends when {self._wait.ends}, at {self._until} at the latest"
        lasting = state != self._told or waited_s - self._told_at_s >= _REPEAT_S
        if lasting:
            self._told, self._told_at_s = state, waited_s
        self._ctx.log("info", line, ephemeral=not lasting)
