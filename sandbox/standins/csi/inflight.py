"""At most one operation at a time on one volume, snapshot or name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from sandbox.standins.csi.errors import aborted


class InFlight:
    """The keys that calls are working on now."""

    def __init__(self, busy: str = "An operation with the given volume {key!r} is already in progress") -> None:
        """`busy` is what a caller is told, with the key."""
        self._busy = busy
        self._keys: set[str] = set()
        self._lock = Lock()

    @contextmanager
    def hold(self, key: str) -> Iterator[None]:
        """Own `key` for the duration of the block; ABORTED when another call owns it."""
        with self._lock:
            if key in self._keys:
                raise aborted(self._busy.format(key=key))
            self._keys.add(key)
        try:
            yield
        finally:
            self._free(key)

    def _free(self, key: str) -> None:
        with self._lock:
            self._keys.discard(key)
