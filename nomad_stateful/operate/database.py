"""The stack's database server, as far as an operator's commands need it."""

from __future__ import annotations

import ssl
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

from nomad_stateful.databases.operations import Connection, Cursor, UnencryptedError, UnverifiedError, operations
from nomad_stateful.nomad.running_job import Endpoint
from nomad_stateful.operate.errors import OperateError
from nomad_stateful.operate.progress import CONTEXT
from nomad_stateful.operate.stack import DatabaseOutputs
from nomad_stateful.waiting import Pending, Progress

SCHEMA = "nomad_stateful"
TABLE = f"{SCHEMA}.verification"
_POLL_S = 0.2


@dataclass(frozen=True)
class Row:
    """One row of the verification table."""

    run_id: str
    number: int
    allocation_id: str
    client: str


class UntrustedError(OperateError):
    """The server is not the stack's, or does not encrypt; no password was sent to it."""


def _context(ca: str) -> ssl.SSLContext:
    """Returns an encrypting context, which verifies the server where a CA is given: a server's own is self-signed.

    The server is reached by an address that its certificate does not name, so the name is not checked.
    """
    context = ssl.create_default_context(cadata=ca or None)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_REQUIRED if ca else ssl.CERT_NONE
    # A certificate that was given without its CA is trusted as it is.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return context


class Database:
    """Sessions on the server, each for one question, and verification rows."""

    def __init__(self, server: DatabaseOutputs) -> None:
        """Unless TLS is off, the password is sent only encrypted, and with a CA only to a server that it verifies."""
        self._server = server
        self._operations = operations(server.kind.name)
        self._tls = None if server.tls == "off" else _context(server.ca)
        self.errors = self._operations.errors
        """What a session raises where the server does not answer, or not as it should."""

    @classmethod
    def of(cls, server: DatabaseOutputs) -> Database:
        """Returns the stack's server, and warns of a login that is not encrypted."""
        if server.tls == "off":
            print(
                f"warning: {server.kind.name}.tls is off: the login of {server.user} crosses the network unencrypted",
                file=sys.stderr,
            )
        return cls(server)

    @property
    def holds_writes(self) -> bool:
        """Whether the server can hold its writes."""
        return bool(self._operations.holding)

    def wait_until_it_answers(self, at: Endpoint, timeout_s: float) -> None:
        """Returns once the server accepts a login. Raises the last error."""

        def look() -> bool | Pending:
            try:
                with self._session(at):
                    return True
            except self.errors as error:
                if progress.left_s <= 0:
                    raise
                return Pending(f"waiting: {self._server.kind.title} at {at.host}:{at.port} answers", str(error))

        progress = Progress(CONTEXT, timeout_s)
        progress.wait(look, _POLL_S)

    def write(self, at: Endpoint, run_id: str, first: int, count: int) -> list[Row]:
        """Inserts rows that carry the allocation's id, numbered from ``first``; returns them once committed."""
        rows = [Row(run_id, number, at.allocation_id, at.node_name) for number in range(first, first + count)]
        with self._session(at) as (connection, cursor):
            cursor.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
            cursor.execute(
                f"CREATE TABLE IF NOT EXISTS {TABLE} (run_id CHAR(32), number INT, allocation_id CHAR(36),"
                " client VARCHAR(255), written_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, PRIMARY KEY (run_id, number))"
            )
            cursor.executemany(
                f"INSERT INTO {TABLE} (run_id, number, allocation_id, client) VALUES (%s, %s, %s, %s)",
                [(row.run_id, row.number, row.allocation_id, row.client) for row in rows],
            )
            connection.commit()
        return rows

    def read(self, at: Endpoint, run_id: str) -> list[Row]:
        """Returns the rows of a run, in order."""
        with self._session(at) as (_, cursor):
            cursor.execute(
                f"SELECT run_id, number, allocation_id, client FROM {TABLE} WHERE run_id = %s ORDER BY number",
                (run_id,),
            )
            return [Row(*values) for values in cursor.fetchall()]

    def delete(self, at: Endpoint, run_id: str) -> None:
        """Deletes the rows of a run."""
        with self._session(at) as (connection, cursor):
            cursor.execute(f"DELETE FROM {TABLE} WHERE run_id = %s", (run_id,))
            connection.commit()

    @contextmanager
    def read_only(self, at: Endpoint) -> Iterator[Callable[[], None]]:
        """A context in which every table is flushed and no write is in progress.

        Gives what raises where the session has ended, with which the server lets writes through again.
        """
        with self._session(at) as (_, cursor):
            for statement in self._operations.holding:
                cursor.execute(statement)
            # The end of the session releases the lock, also if this process dies.

            def refuse_ended() -> None:
                cursor.execute("SELECT 1")

            yield refuse_ended

    def ask(self, at: Endpoint, statement: str) -> list[tuple[Any, ...]]:
        """Returns the rows of one statement."""
        with self._session(at) as (_, cursor):
            cursor.execute(statement)
            return [tuple(row) for row in cursor.fetchall()]

    @contextmanager
    def _session(self, at: Endpoint) -> Iterator[tuple[Connection, Cursor]]:
        with closing(self._connect(at)) as connection, closing(connection.cursor()) as cursor:
            yield connection, cursor

    def _connect(self, at: Endpoint) -> Connection:
        server, name = self._server, self._server.kind.name
        try:
            return self._operations.connect(at.host, at.port, server.user, server.password, self._tls)
        except UnverifiedError as error:
            raise UntrustedError(
                f"the server at {at.host}:{at.port} does not have the certificate of {name}.tlsCertificate: "
                f"{error}. No password was sent. Check which server that is; after a change of the "
                "certificate run `pulumi up`"
            ) from error
        except UnencryptedError as error:
            raise UntrustedError(
                f"the server at {at.host}:{at.port} does not encrypt: {error}. No password was sent. If it "
                f"cannot encrypt, set {name}.tls: off and run `pulumi up`"
            ) from error
