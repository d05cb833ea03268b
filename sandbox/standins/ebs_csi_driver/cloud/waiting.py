"""Waiting for EC2 to finish what it began."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TypeVar

from sandbox.standins.ebs_csi_driver.cloud.errors import CloudError, Kind

FIRST_PAUSE_S: Final = 0.1
LONGEST_PAUSE_S: Final = 2.0
GROWTH: Final = 1.5

T = TypeVar("T")


def until(look: Callable[[], T | None], *, timeout_s: float, what: Callable[[], str]) -> T:
    """Calls `look` with growing pauses until it gives something; CloudError TIMEOUT with `what()` after `timeout_s`."""
    deadline = time.monotonic() + timeout_s
    pause = FIRST_PAUSE_S
    while True:
        found = look()
        if found is not None:
            return found
        left = deadline - time.monotonic()
        if left <= 0:
            raise CloudError(Kind.TIMEOUT, f"{what()} (waited {timeout_s:.0f} s)")
        time.sleep(min(pause, left))
        pause = min(pause * GROWTH, LONGEST_PAUSE_S)
