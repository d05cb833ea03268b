"""What a command says while it works: one line per phase, with the time it took."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator


class Phases:
    """Prints the phases of a command; phases may run at the same time."""

    def __init__(self, command: str) -> None:
        self._command = command
        self._started = time.monotonic()
        self._lock = threading.Lock()
        self.changes: list[str] = []
        """Names of the phases that changed something."""

    @property
    def elapsed_s(self) -> float:
        """Seconds since the command started."""
        return time.monotonic() - self._started

    def say(self, text: str) -> None:
        """Prints a line of the command's own."""
        with self._lock:
            print(f"{self._command}: {text}", file=sys.stderr, flush=True)

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[Phase]:
        """Times a phase and prints its line when it ends well."""
        phase = Phase(name)
        started = time.monotonic()
        yield phase
        took = time.monotonic() - started
        if phase.changed:
            self.changes.append(name)
        self.say(f"{name}: {phase.result} ({took:.1f} s)")


class Phase:
    """What a phase found or did."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.changed = False
        self.result = "done"

    def did(self, result: str) -> None:
        """The phase changed something."""
        self.changed = True
        self.result = result

    def kept(self, result: str) -> None:
        """The phase found everything as it should be."""
        self.result = result
