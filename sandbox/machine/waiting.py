"""The one wait for something of this machine to become so."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def until(look: Callable[[], T], timeout_s: float, pause_s: float = 0.05) -> T:
    """Returns what `look` gives as soon as it is true, else the last that it gave at the deadline."""
    deadline = time.monotonic() + timeout_s
    while not (found := look()) and time.monotonic() <= deadline:
        time.sleep(pause_s)
    return found
