"""The moment MySQL answers, seen from outside: the same watch for everyone, whatever they wait for themselves."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Sequence

import pymysql

POLL_S = 0.1
_TIMEOUT_S = 2.0


class Watch:
    """Asks each address ten times a second for a row, from the moment it is entered."""

    def __init__(
        self, addresses: Sequence[tuple[str, int]], password: Callable[[], str | None], *, started_after: bool = False
    ) -> None:
        """With `started_after` only a server counts that started after the watch did."""
        self._addresses = addresses
        self._password = password
        self._started_after = started_after
        self._found = threading.Event()
        self._stop = threading.Event()
        self._since = 0.0
        self._answered_at = 0.0
        self.address: tuple[str, int] | None = None
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Watch:
        self._since = time.monotonic()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def seconds(self, timeout_s: float) -> float:
        """How long it took until a row came back. Raises TimeoutError."""
        if not self._found.wait(timeout_s):
            raise TimeoutError(f"MySQL does not answer after {timeout_s:.0f} s")
        return self._answered_at - self._since

    def _watch(self) -> None:
        while not self._stop.wait(POLL_S):
            for address in self._addresses:
                if is_open(address) and self._answers(address):
                    self._answered_at, self.address = time.monotonic(), address
                    self._found.set()
                    return

    def _answers(self, address: tuple[str, int]) -> bool:
        password = self._password()
        if password is None:
            return False
        asked_at = time.monotonic()
        uptime_s = uptime(address, password)
        # The server counts whole seconds.
        return uptime_s is not None and (not self._started_after or uptime_s <= asked_at - self._since)


def is_open(address: tuple[str, int]) -> bool:
    """Whether something takes a connection there."""
    try:
        socket.create_connection(address, timeout=_TIMEOUT_S).close()
    except OSError:
        return False
    return True


def uptime(address: tuple[str, int], password: str) -> int | None:
    """Seconds since the server there started, by a query over TCP; None when it does not answer one."""
    host, port = address
    try:
        connection = pymysql.connect(
            host=host, port=port, user="root", password=password, connect_timeout=2, read_timeout=_TIMEOUT_S
        )
        with connection, connection.cursor() as cursor:
            cursor.execute("SELECT 1")
            cursor.execute("SHOW GLOBAL STATUS LIKE 'Uptime'")
            row = cursor.fetchone()
    except (pymysql.err.Error, OSError):
        return None
    return None if row is None else int(row[1])
