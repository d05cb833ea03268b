"""Python's garbage collector, for a process that lives briefly and keeps what it makes."""

import gc


def collect_rarely() -> None:
    """Looks among 200,000 new objects instead of 700: a tenth off a plugin's start, a fifth off a large program."""
    gc.set_threshold(200_000, 30, 30)
