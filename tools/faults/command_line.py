"""What the commands that run faults share: numbers and folders as arguments, what is said when, and interrupts."""

from __future__ import annotations

import argparse
import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

from tools.faults.runner import Runner


@contextlib.contextmanager
def interrupted_between_runs(runner: Runner) -> Iterator[None]:
    """The first interrupt ends every lane after the run it is in; a second one is a KeyboardInterrupt."""
    usual = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def end(_number: int, _frame: FrameType | None) -> None:
        runner.stop.set()
        for number in usual:
            signal.signal(number, signal.default_int_handler)
        runner.options.say("interrupted: every lane is taken down after the run it is in")

    for number in usual:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in usual.items():
            signal.signal(number, handler)


def speaker() -> Callable[[str], None]:
    """Says a line with the seconds since it was made, from any thread."""
    lock, began = threading.Lock(), time.monotonic()

    def say(text: str) -> None:
        with lock:
            print(f"[{time.monotonic() - began:6.0f} s] {text}", flush=True)

    return say


def folder(text: str) -> Path:
    """A folder, as an argument names it."""
    return Path(text).absolute()


def positive(text: str) -> int:
    """A number of 1 or more. ArgumentTypeError for others."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return number


def piece(text: str) -> range:
    """The numbers of runs: one, or from one to another, as 1-24. ArgumentTypeError for others."""
    first, _, last = text.partition("-")
    numbers = range(positive(first), positive(last or first) + 1)
    if not numbers:
        raise argparse.ArgumentTypeError(f"{text!r} has no number in it")
    return numbers
