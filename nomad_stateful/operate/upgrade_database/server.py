"""The running server: what it says of itself, and how long it is away."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from nomad_stateful.databases.model import Database as Kind
from nomad_stateful.databases.operations import operations
from nomad_stateful.databases.upgrades import Upgrades, Version
from nomad_stateful.errors import ProviderError
from nomad_stateful.nomad import running_job
from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.running_job import Endpoint
from nomad_stateful.operate.cluster import connect
from nomad_stateful.operate.database import Database
from nomad_stateful.operate.errors import OperateError
from nomad_stateful.waiting import Stopwatch, repeat

_PING_S = 0.2


@dataclass(frozen=True)
class Server:
    """The stack's server, wherever it runs."""

    kind: Kind
    nomad: NomadApi
    database: Database
    job_id: str
    namespace: str

    @property
    def upgrades(self) -> Upgrades:
        """How it is upgraded."""
        return operations(self.kind.name).upgrades

    def endpoint(self) -> Endpoint | None:
        """Returns where it runs now, None if nowhere. Raises NomadError."""
        return running_job.endpoint(self.nomad, self.job_id, self.namespace, self.kind.name, "db")

    def version(self) -> Version | None:
        """Returns its version, None while it does not answer. Raises NomadError, UpgradeRefusedError."""
        at = self.endpoint()
        try:
            if at is None:
                return None
            return self.upgrades.of_server(str(self.database.ask(at, self.upgrades.version)[0][0]))
        except self.database.errors:
            return None

    def tables(self) -> frozenset[str]:
        """Returns the names of the tables that are not the server's own."""
        return frozenset(self.names(self.upgrades.tables))

    def dictionary(self) -> str:
        """Returns what the server says of its upgrade, "" if nothing."""
        statement = self.upgrades.upgraded
        return next(iter(self.names(statement)), "") if statement else ""

    def names(self, statement: str) -> list[str]:
        """Returns the first column of a statement's rows. Raises OperateError."""
        at = self.endpoint()
        if at is None:
            raise OperateError(f"job {self.job_id} does not run: `nomad-stateful explain {self.job_id}`")
        try:
            return [str(row[0]) for row in self.database.ask(at, statement)]
        except self.database.errors as error:
            raise OperateError(f"{self.kind.title} at {at.host}:{at.port} does not answer: {error}") from error


class Absence:
    """Asks the server all the time, until it has the version that is waited for."""

    def __init__(self, server: Server, after: Version) -> None:
        self._server = server
        self._after = after
        self._ending = threading.Event()
        self._answered = Stopwatch()
        self.back: Stopwatch | None = None
        """Since the new version answered first; None if it has not."""
        self.away_s = 0.0
        """The longest time without an answer."""

    @contextmanager
    def watched(self) -> Iterator[None]:
        """While this lasts, it asks."""
        self._answered.restart()
        thread = threading.Thread(target=self._work, name="the server's absence", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._ending.set()
            thread.join()

    def _work(self) -> None:
        own = Server(self._server.kind, connect(), self._server.database, self._server.job_id, self._server.namespace)
        try:
            repeat(lambda: self._ask(own), self._ending, _PING_S)
        finally:
            own.nomad.close()

    def _ask(self, own: Server) -> float | None:
        try:
            found = own.version()
        except (OperateError, ProviderError):
            found = None
        if found is None:
            return _PING_S
        self.away_s = max(self.away_s, self._answered.seconds)
        self._answered.restart()
        if found != self._after:
            return _PING_S
        self.back = Stopwatch()
        return None
