"""A history: what clients invoked and what came back, in a file, as it happens (docs/histories.md)."""

from __future__ import annotations

import contextlib
import itertools
import json
import secrets
import threading
import time
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

Outcome = Literal["ok", "failed", "unknown"]


@dataclass
class Returned:
    """What came back of an operation: nothing happened until its client says that something may have."""

    outcome: Outcome = "failed"
    fields: dict[str, Any] = field(default_factory=dict)
    """What the operation's second line has besides: `read`, or `data` where it was not known before."""


class History:
    """The file, to which any number of threads write."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.tag = secrets.token_hex(3)
        """What the keys of this history begin with: the database may have those of others."""
        self.newest = 0
        """The newest value that was given out."""
        self.reads = 0
        """Reads that were answered."""
        self.made: set[Hashable] = set()
        """What clients have made in the database for this history."""
        self._ids = itertools.count(1)
        self._lock = threading.Lock()
        self._file = path.open("a", encoding="ascii", buffering=1)

    def close(self) -> None:
        """Nothing is written any more."""
        self._file.close()

    def value(self) -> int:
        """A number that no write and no append of this history had."""
        with self._lock:
            self.newest += 1
            return self.newest

    @contextlib.contextmanager
    def operation(self, process: str, model: str, op: str, **fields: Any) -> Iterator[Returned]:
        """Writes that it is invoked, and what came back when it is left, also by an error."""
        returned = Returned()
        with self._lock:
            number = next(self._ids)
            invoked = time.monotonic_ns()
            self._write(id=number, process=process, model=model, op=op, **fields, invoked=invoked)
        try:
            yield returned
        finally:
            at = time.monotonic_ns()
            with self._lock:
                self._write(id=number, returned=at, outcome=returned.outcome, **returned.fields)
                self.reads += op == "read" and returned.outcome == "ok"

    def _write(self, **line: Any) -> None:
        self._file.write(json.dumps(line) + "\n")
