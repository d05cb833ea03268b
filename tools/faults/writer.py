"""A client that commits rows all the time, and remembers which commits were acknowledged."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, Protocol

from nomad_stateful.nomad.api import NomadApi, NomadError
from tools.faults.background import Background
from tools.faults.clients import Clients
from tools.histories.history import History
from tools.histories.judge import Verdict, judge
from tools.histories.statements import STATEMENTS
from tools.trial.running import eventually
from tools.trial.servers import MYSQL, Server

PAUSE_S: Final = 0.03
_RETRY_S: Final = 0.2
_TIMEOUT_S: Final = 5
_TABLES: Final = (
    "CREATE SCHEMA IF NOT EXISTS faults",
    "CREATE TABLE IF NOT EXISTS faults.acknowledged (number BIGINT PRIMARY KEY)",
    "CREATE TABLE IF NOT EXISTS faults.data (only_row INT PRIMARY KEY, id CHAR(36))",
)
_DATA: Final = "SELECT id FROM faults.data"
_ROWS: Final = "rows"
"""What a history calls the table of the acknowledged rows: a list, to which one client appends."""


class Database(Protocol):
    """Where the writer writes."""

    @contextlib.contextmanager
    def session(self) -> Iterator[tuple[str, Callable[[int], None]]]:
        """Gives the id of the data, and what commits one row; after an error the row may or may not be there."""

    def rows(self) -> tuple[str, list[int]]:
        """The id of the data, and the numbers of all rows that are there."""


@dataclass
class Served:
    """The stack's database, found as any client would find it: address and password come from Nomad."""

    nomad: NomadApi
    server: Server = MYSQL
    jobs: tuple[tuple[str, str], ...] = ()
    """Namespace and id of the job that runs it: the first that is there and takes a login."""

    def __post_init__(self) -> None:
        self.jobs = self.jobs or (("default", self.server.job),)

    @contextlib.contextmanager
    def connected(self) -> Iterator[tuple[str, Any]]:
        """Gives the id of the data directory, and a connection to it."""
        with contextlib.closing(self._connect()) as connection:
            yield self._data(connection) or self._made(connection), connection

    @contextlib.contextmanager
    def session(self) -> Iterator[tuple[str, Callable[[int], None]]]:
        """Gives the id of the data directory, and what inserts and commits one row."""
        with self.connected() as (data, connection), contextlib.closing(connection.cursor()) as cursor:

            def commit(number: int) -> None:
                cursor.execute("INSERT INTO faults.acknowledged VALUES (%s)", (number,))
                connection.commit()

            yield data, commit

    def rows(self) -> tuple[str, list[int]]:
        """The id of the data directory, and the numbers of all rows that are there."""
        with contextlib.closing(self._connect()) as connection, contextlib.closing(connection.cursor()) as cursor:
            cursor.execute(_DATA)
            data = str(cursor.fetchall()[0][0])
            cursor.execute("SELECT number FROM faults.acknowledged ORDER BY number")
            return data, [row[0] for row in cursor.fetchall()]

    def _data(self, connection: Any) -> str:
        """The id of the data directory; empty where it has none."""
        # Not made anew what is there: a session on a server that takes no writes can read then, and is judged by that.
        try:
            with contextlib.closing(connection.cursor()) as cursor:
                cursor.execute(_DATA)
                return "".join(str(row[0]) for row in cursor.fetchall())
        except self.server.errors:
            return ""
        finally:
            connection.rollback()

    def _made(self, connection: Any) -> str:
        """Makes the tables, and the data directory's id."""
        sql = STATEMENTS[self.server.name]
        with contextlib.closing(connection.cursor()) as cursor:
            for statement in (*_TABLES, sql.insert.format(f"faults.data VALUES (1, {sql.new_id})")):
                cursor.execute(statement)
        connection.commit()
        return self._data(connection)

    def _connect(self) -> Any:
        error: Exception | None = None
        errors: tuple[type[Exception], ...] = (NomadError, *self.server.errors)
        for namespace, job in self.jobs:
            try:
                return self._login(namespace, job)
            except errors as refused:
                error = error or refused
        raise error or ConnectionError("no job is known")

    def _login(self, namespace: str, job: str) -> Any:
        """A login at whichever registered address takes one, the newest first."""
        asked: dict[str, Any] = {"namespace": namespace, "timeout_s": _TIMEOUT_S}
        found = self.nomad.get(f"service/{job}", **asked)
        password = self.nomad.get(f"var/nomad/jobs/{job}", **asked)["Items"]["root_password"]
        error: Exception = ConnectionError(f"no service {job} is registered")
        for service in sorted(found, key=lambda one: -int(one["CreateIndex"])):
            try:
                return self.server.login(service["Address"], service["Port"], password, _TIMEOUT_S)
            except self.server.errors as refused:
                error = refused
        raise error


class Writer:
    """Writes rows from `begin` to `end`, one deployment's data after the other, and a history of each."""

    def __init__(
        self, database: Database, folder: Path, pause_s: float = PAUSE_S, clients: Clients | None = None
    ) -> None:
        self._database = database
        self._folder = folder
        self._pause_s = pause_s
        self._clients = clients
        self._number = 0
        self._first = 0
        """The number before the first one of this deployment."""
        self._histories: list[History] = []
        """Of each deployment that was not judged since it ended, and of this one."""
        self.verdicts: dict[Path, Verdict] = {}
        """What the judge said last of each history."""
        self._deployments = 0
        self._background = Background("writer", self._work)
        self.total = 0
        """Commits that were acknowledged in all deployments."""
        self.acknowledged: list[int] = []
        """Numbers of the rows whose commit the database acknowledged since `begin`, in order."""
        self.elsewhere: set[int] = set()
        """Those of them that are on data that the database was taken from on purpose, and so are not asked for now."""
        self._data_of: dict[int, str] = {}
        self.error = ""
        """Why the last attempt failed."""

    @property
    def history(self) -> History:
        """What was invoked and came back in this deployment; an acknowledged row is in it before it counts."""
        return self._histories[-1]

    @property
    def newest(self) -> int:
        """The number of the row that was sent last."""
        return self._number

    @property
    def writes(self) -> bool:
        """Whether it has begun and not ended."""
        return self._background.runs

    def begin(self) -> None:
        """Starts afresh, with the data of a new deployment; does nothing while it writes."""
        if self.writes:
            return
        self._deployments += 1
        self._histories.append(History(self._folder / f"history-{self._deployments}.jsonl"))
        self._first = self._number
        self._forget()
        self._background.begin()
        if self._clients:
            self._clients.begin(self.history)

    def end(self) -> None:
        """Stops writing; what was written is no longer asked for."""
        if not self.writes:
            return
        self._background.end()
        if self._clients:
            self._clients.end()
        self.history.close()
        self._forget()

    def leave(self) -> None:
        """From here on the database is meant to have other data than before."""
        with self.history.operation("runner", "data", "leave") as returned:
            returned.outcome = "ok"

    def contradictions(self) -> list[str]:
        """What the judge finds in the histories since it was asked last, of this deployment once all was read again."""
        if self.writes and self._clients:
            eventually(self._read_all, 60, "the database answers every read", lambda: f"last error: {self.error}")
        histories = [one for one in self._histories if one.reads or (self.writes and one is self.history)]
        self._histories = self._histories[-1:] if self.writes else []
        self.verdicts |= {one.path: judge(one.path) for one in histories}
        return [verdict.text for one in histories if not (verdict := self.verdicts[one.path]).right]

    def _read_all(self) -> Literal[True] | None:
        try:
            assert self._clients
            self._clients.read_all(self.history)
        except Exception as error:
            self.error = f"{type(error).__name__}: {error}"
            return None
        return True

    def await_new(self, number: int, timeout_s: float) -> None:
        """Waits until so many further commits are acknowledged. AssertionError at the deadline."""
        wanted = len(self.acknowledged) + number
        eventually(
            lambda: len(self.acknowledged) >= wanted or None,
            timeout_s,
            f"{number} further commits are acknowledged",
            lambda: f"last error: {self.error or 'none'}",
        )

    def moved(self) -> str:
        """The database is on the data where it is meant to be; gives its id. Rows elsewhere are not asked for now."""
        data, _ = self._rows(60)
        self.elsewhere = {number for number in list(self.acknowledged) if self._data_of[number] != data}
        return data

    def rows(self, timeout_s: float = 60) -> list[int]:
        """Numbers of all rows that the database has. AssertionError when it does not say until the deadline."""
        return self._rows(timeout_s)[1]

    def _rows(self, timeout_s: float) -> tuple[str, list[int]]:
        def probe() -> tuple[str, list[int]] | None:
            try:
                with self.history.operation("reader", "list", "read", key=_ROWS) as returned:
                    data, rows = self._database.rows()
                    returned.fields = {"data": data, "read": [number for number in rows if number > self._first]}
                    returned.outcome = "ok"
                return data, rows
            except Exception as error:
                self.error = f"{type(error).__name__}: {error}"
                return None

        return eventually(probe, timeout_s, "the database lists its rows", lambda: f"last error: {self.error}")

    def lost(self) -> set[int]:
        """Acknowledged rows that the database does not have."""
        known = list(self.acknowledged)
        return set(known) - self.elsewhere - set(self.rows())

    def _forget(self) -> None:
        self.acknowledged, self.elsewhere, self._data_of = [], set(), {}

    def _work(self) -> None:
        while not self._background.ending.is_set():
            try:
                with self._database.session() as (data, commit):
                    self._commit(data, commit)
            except Exception as error:  # whatever it is: the writer goes on, and the row counts as unacknowledged
                self.error = f"{type(error).__name__}: {error}"
                self._background.ending.wait(_RETRY_S)

    def _commit(self, data: str, commit: Callable[[int], None]) -> None:
        while not self._background.ending.is_set():
            # A number is used once: whether an unacknowledged row is there, nobody knows.
            self._number += 1
            row = {"key": _ROWS, "data": data, "value": self._number}
            with self.history.operation("rows", "list", "append", **row) as returned:
                returned.outcome = "unknown"
                commit(self._number)
                returned.outcome = "ok"
            self._data_of[self._number] = data
            self.acknowledged.append(self._number)
            self.total += 1
            self._background.ending.wait(self._pause_s)
