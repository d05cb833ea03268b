"""The clients of a history, each in a thread and on a connection of its own, for as long as a writer writes."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Final

from tools.faults.background import Background
from tools.histories.clients import CLIENTS, Client, Connection, Session, make_tables
from tools.histories.history import History
from tools.histories.statements import Statements

_OF_EACH: Final = 2
_PAUSE_S: Final = 0.1
_RETRY_S: Final = 0.3
Connected = Callable[[], AbstractContextManager[tuple[str, Connection]]]
"""Gives the id of the data, and a connection to it."""


class Clients:
    """Two clients of each kind."""

    def __init__(self, connected: Connected, sql: Statements, pause_s: float = _PAUSE_S) -> None:
        self._connected = connected
        self._sql = sql
        self._pause_s = pause_s
        self._running: list[Background] = []

    def begin(self, history: History) -> None:
        """Starts them on a history."""
        self._running = [
            self._started(client, f"{client.model}-{number}", history)
            for number in range(_OF_EACH)
            for client in CLIENTS
        ]

    def end(self) -> None:
        """Ends them all."""
        for one in self._running:
            one.ending.set()
        for one in self._running:
            one.end()
        self._running.clear()

    def read_all(self, history: History) -> None:
        """Reads everything that there is of a history once more. Raises what the database says."""
        with self._session("last", history) as session:
            for client in CLIENTS:
                client.read_all(session)

    def _started(self, client: Client, name: str, history: History) -> Background:
        draw = random.Random(name)

        def work() -> None:
            while not background.ending.is_set():
                # Whatever it is: the history has what came back, and the client goes on.
                with contextlib.suppress(Exception), self._session(name, history) as session:
                    while not background.ending.wait(self._pause_s):
                        client.act(session, draw)
                background.ending.wait(_RETRY_S)

        background = Background(name, work)
        background.begin()
        return background

    @contextlib.contextmanager
    def _session(self, name: str, history: History) -> Iterator[Session]:
        with self._connected() as (data, connection):
            session = Session(name, data, connection, history, self._sql)
            make_tables(session)
            yield session
