"""What is being done right now, since when and how long it usually takes: one line at a time on stderr."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

HEARTBEAT_S = 10.0


def say(message: str) -> None:
    """Prints one line for the person who waits."""
    print(f"toolchain: {message}", file=sys.stderr, flush=True)


@contextmanager
def step(what: str, expected_s: int, heartbeat_s: float = HEARTBEAT_S) -> Iterator[None]:
    """Announce a step, say every `heartbeat_s` seconds that it is still running, and how long it took at its end."""
    started = time.monotonic()
    since = time.strftime("%H:%M:%S")
    say(f"{what} (since {since}, takes about {expected_s} s)")
    finished = threading.Event()

    def beat() -> None:
        while not finished.wait(heartbeat_s):
            say(f"{what}: {time.monotonic() - started:.0f} s of about {expected_s} s, since {since}")

    heart = threading.Thread(target=beat, name="toolchain-heartbeat", daemon=True)
    heart.start()
    try:
        yield
    finally:
        finished.set()
        heart.join()
    say(f"{what}: done in {time.monotonic() - started:.0f} s")
