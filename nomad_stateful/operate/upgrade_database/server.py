"""The running server: what it says of itself, and how long it is away."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pymysql

from nomad_stateful.errors import ProviderError
from nomad_stateful.nomad import running_job
from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.running_job import Endpoint
from nomad_stateful.operate.cluster import connect
from nomad_stateful.operate.database import Database
from nomad_stateful.operate.errors import OperateError
from nomad_stateful.operate.upgrade_database.releases import MysqlUpgradeRefusedError, Version, of_server

_PING_S = 0.2
_TABLES = (
    "SELECT CONCAT(table_schema, '.', table_name) FROM information_schema.tables WHERE table_schema NOT IN "
    "('mysql', 'sys', 'information_schema', 'performance_schema')"
)
_OLD_LOGINS = (
    "SELECT CONCAT(user, '@', host, ' (', plugin, ')') FROM mysql.user WHERE account_locked = 'N' AND plugin IN "
)
_FLOATS = (
    "SELECT CONCAT(table_schema, '.', table_name, '.', column_name) FROM information_schema.columns WHERE "
    "extra LIKE '%auto_increment%' AND data_type IN ('float', 'double') AND table_schema NOT IN "
    "('mysql', 'sys', 'information_schema', 'performance_schema')"
)
# The server's own words on its data dictionary and system tables, since 8.0.22.
_UPGRADED = (
    "SELECT data FROM performance_schema.error_log WHERE error_code = 'MY-013381' AND data LIKE '%completed%' "
    "ORDER BY logged DESC LIMIT 1"
)


@dataclass(frozen=True)
class Server:
    """The stack's server, wherever it runs."""

    nomad: NomadApi
    database: Database
    job_id: str
    namespace: str

    def endpoint(self) -> Endpoint | None:
        """Returns where it runs now, None if nowhere. Raises NomadError."""
        return running_job.endpoint(self.nomad, self.job_id, self.namespace, "mysql", "db")

    def version(self) -> Version | None:
        """Returns its version, None while it does not answer. Raises NomadError, MysqlUpgradeRefusedError."""
        at = self.endpoint()
        try:
            return of_server(str(self.database.ask(at, "SELECT VERSION()")[0][0])) if at else None
        except pymysql.err.MySQLError:
            return None

    def tables(self) -> frozenset[str]:
        """Returns the names of the tables that are not the server's own."""
        return frozenset(self._names(_TABLES))

    def dictionary(self) -> str:
        """Returns what the server says of its upgrade, "" if nothing."""
        return next(iter(self._names(_UPGRADED)), "")

    def refuse_contents(self, after: Version, *, native: bool) -> None:
        """Raises MysqlUpgradeRefusedError for what the new version would not take; `native` allows the old logins."""
        wrong = []
        plugins = [
            *([] if native else ["mysql_native_password"]),
            *(["authentication_fido"] if after.series >= (8, 4) else []),
        ]
        if plugins and (old := self._names(_OLD_LOGINS + f"({', '.join(map(repr, plugins))})")):
            wrong.append(
                f"accounts {', '.join(old)}: MySQL {after} lets none of them log in. ALTER USER … IDENTIFIED WITH "
                "caching_sha2_password BY …, or ACCOUNT LOCK what is not used (up to 8.4 mysql.config: "
                "{mysql_native_password: ON} lets them)"
            )
        if self._names("XA RECOVER"):
            wrong.append("XA transactions are prepared: XA COMMIT or XA ROLLBACK them (XA RECOVER lists them)")
        if after.series >= (8, 4) and (floats := self._names(_FLOATS)):
            wrong.append(f"columns {', '.join(floats)}: MySQL 8.4 has no AUTO_INCREMENT of FLOAT or DOUBLE. ALTER them")
        if wrong:
            raise MysqlUpgradeRefusedError("\n  ".join([f"MySQL {after} does not take what the server has:", *wrong]))

    def _names(self, statement: str) -> list[str]:
        at = self.endpoint()
        if at is None:
            raise OperateError(f"job {self.job_id} does not run: `nomad-stateful explain {self.job_id}`")
        try:
            return [str(row[0]) for row in self.database.ask(at, statement)]
        except pymysql.err.MySQLError as error:
            raise OperateError(f"MySQL at {at.host}:{at.port} does not answer: {error}") from error


class Absence:
    """Asks the server all the time, until it has the version that is waited for."""

    def __init__(self, server: Server, after: Version) -> None:
        self._server = server
        self._after = after
        self._ending = threading.Event()
        self._last = time.monotonic()
        self.back_at = 0.0
        """When (time.monotonic) the new version answered first; 0 if it has not."""
        self.away_s = 0.0
        """The longest time without an answer."""

    @contextmanager
    def watched(self) -> Iterator[None]:
        """While this lasts, it asks."""
        thread = threading.Thread(target=self._work, name="mysql's absence", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._ending.set()
            thread.join()

    def _work(self) -> None:
        own = Server(connect(), self._server.database, self._server.job_id, self._server.namespace)
        try:
            while not self._ending.wait(_PING_S) and not self.back_at:
                self._ask(own)
        finally:
            own.nomad.close()

    def _ask(self, own: Server) -> None:
        try:
            found = own.version()
        except (OperateError, ProviderError):
            found = None
        if found is None:
            return
        now = time.monotonic()
        self.away_s, self._last = max(self.away_s, now - self._last), now
        if found == self._after:
            self.back_at = now
