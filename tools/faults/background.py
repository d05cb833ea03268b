"""Work in a thread of its own, from a `begin` to an `end`."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Background:
    """Runs `work`, which has to return soon after `ending` is set."""

    def __init__(self, name: str, work: Callable[[], None]) -> None:
        self._name = name
        self._work = work
        self._thread: threading.Thread | None = None
        self.ending = threading.Event()

    @property
    def runs(self) -> bool:
        """Whether it has begun and not ended."""
        return self._thread is not None

    def begin(self) -> None:
        """Starts the work."""
        self.ending.clear()
        self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Stops it and waits for it; does nothing where it does not run."""
        if self._thread is not None:
            self.ending.set()
            self._thread.join()
            self._thread = None
