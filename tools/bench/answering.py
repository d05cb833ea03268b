"""The moment MySQL answers, seen from outside: the same watch for everyone, whatever they wait for themselves."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Sequence

import pymysql

from tools.faults.background import Background

POLL_S = 0.1
_TIMEOUT_S = 2.0


class Watch(Background):
    """Asks each address ten times a second for a row, from the moment it is entered."""

    def __init__(self, addresses: Sequence[tuple[str, int]], password: Callable[[], str | None]) -> None:
        self._addresses = addresses
        self._password = password
        self._found = threading.Event()
        self._since = 0.0
        self._answered_at = 0.0
        super().__init__("answering", self._watch)

    def __enter__(self) -> Watch:
        self._since = time.monotonic()
        self.begin()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def seconds(self, timeout_s: float) -> float:
        """How long it took until a row came back. Raises TimeoutError."""
        if not self._found.wait(timeout_s):
            raise TimeoutError(f"MySQL does not answer after {timeout_s:.0f} s")
        return self._answered_at - self._since

    def _watch(self) -> None:
        while not self.ending.wait(POLL_S):
            for address in self._addresses:
                if answers(address, self._password):
                    self._answered_at = time.monotonic()
                    self._found.set()
                    return


def answers(address: tuple[str, int], password: Callable[[], str | None]) -> bool:
    """Whether a query over TCP is answered there."""
    host, port = address
    try:
        socket.create_connection(address, timeout=_TIMEOUT_S).close()
        if (known := password()) is None:
            return False
        connection = pymysql.connect(
            host=host, port=port, user="root", password=known, connect_timeout=2, read_timeout=_TIMEOUT_S
        )
        with connection, connection.cursor() as cursor:
            return cursor.execute("SELECT 1") == 1
    except (pymysql.err.Error, OSError):
        return False
