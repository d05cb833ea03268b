"""Faults of AWS's API in a lane: switched on for a while, and seen to strike."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from subprocess import CompletedProcess
from typing import Final

from tools.faults.lane import Lane
from tools.trial.call_record import Calls

ATTEMPTS: Final = 6
Command = Callable[[], "CompletedProcess[str]"]


@contextlib.contextmanager
def aws_fault(lane: Lane, kind: str, *options: str) -> Iterator[Calls]:
    """While the fault is in force; it ends whatever happens. Options are those of `ctl fault on`."""
    calls = Calls(lane.call_log)
    lane.stack.ctl("fault", "on", kind, *options)
    lane.injected()
    try:
        yield calls
    finally:
        lane.stack.ctl("fault", "off")


@contextlib.contextmanager
def aws_outage(lane: Lane, kind: str, after_s: float, for_s: float, *options: str) -> Iterator[Calls]:
    """The fault begins `after_s` from now, in the middle of what is done meanwhile, and lasts `for_s` at most."""
    calls = Calls(lane.call_log)

    def strike() -> None:
        lane.stack.ctl("fault", "on", kind, *options)
        lane.injected()

    with later(after_s, for_s, strike, lambda: lane.stack.ctl("fault", "off")):
        yield calls


@contextlib.contextmanager
def later(after_s: float, for_s: float, begin: Callable[[], object], end: Callable[[], object]) -> Iterator[None]:
    """Calls `begin` in `after_s` from now and `end` `for_s` later, or when this is left, so never one alone."""
    left = threading.Event()

    def act() -> None:
        if left.wait(after_s):
            return
        begin()
        try:
            left.wait(for_s)
        finally:
            end()

    thread = threading.Thread(target=act, name="outage")
    thread.start()
    try:
        yield
    finally:
        left.set()
        thread.join()


def repeated(command: Command, attempts: int = ATTEMPTS) -> str:
    """Runs the same command until it goes through; what the failures said, in a line. AssertionError if none does."""
    said: list[str] = []
    for _ in range(attempts):
        done = command()
        if done.returncode == 0:
            return f"through after {len(said)} failures{f' ({said[-1]})' if said else ''}"
        said.append(error_of(done))
    raise AssertionError(f"still fails after {attempts} times:\n{done.stdout[-6000:]}{done.stderr[-2000:]}")


def error_of(done: CompletedProcess[str]) -> str:
    """The first error that a failed command tells, without what surrounds it. AssertionError for a traceback."""
    text = done.stdout + done.stderr
    assert "Traceback (most recent call last)" not in text, text[-6000:]
    lines = [line.strip() for line in text.splitlines() if "error: " in line and "error: update failed" not in line]
    assert lines, f"it failed without telling an error:\n{text[-6000:]}"
    return lines[0].partition("error: ")[2][:160]
