"""The threads that answer the engine's calls."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any


class Workers(ThreadPoolExecutor):
    """A pool that knows whether it is at work."""

    def __init__(self, max_workers: int) -> None:
        super().__init__(max_workers)
        self._count = 0
        self._lock = threading.Lock()

    @property
    def busy(self) -> bool:
        """Whether a call has begun, or waits for a thread, and has not been answered."""
        with self._lock:
            return self._count > 0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Submits as the pool's own does."""
        with self._lock:
            self._count += 1
        try:
            future = super().submit(fn, *args, **kwargs)
        except BaseException:
            self._ended(None)
            raise
        future.add_done_callback(self._ended)
        return future

    def _ended(self, _future: Future[Any] | None) -> None:
        with self._lock:
            self._count -= 1
