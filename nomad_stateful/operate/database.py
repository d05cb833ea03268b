"""MySQL, as far as an operator's commands need it."""

from __future__ import annotations

import ssl
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pymysql
from pymysql.connections import Connection
from pymysql.constants import CR
from pymysql.cursors import Cursor

from nomad_stateful.nomad.running_job import Endpoint
from nomad_stateful.operate.errors import OperateError
from nomad_stateful.operate.stack import UNENCRYPTED, MysqlOutputs

DATABASE = "nomad_stateful"
TABLE = f"{DATABASE}.verification"


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
    """Verification rows on one MySQL server."""

    def __init__(self, user: str, password: str, *, tls: str, ca: str) -> None:
        """Unless `tls` is off, the password is sent only encrypted, and with `ca` only to a server that it verifies."""
        self._user = user
        self._password = password
        self._tls = None if tls == "off" else _context(ca)

    @classmethod
    def of(cls, mysql: MysqlOutputs) -> Database:
        """Returns the stack's server."""
        if mysql.tls == "off":
            print(UNENCRYPTED, file=sys.stderr)
        return cls(mysql.user, mysql.password, tls=mysql.tls, ca=mysql.ca)

    def wait_until_it_answers(self, at: Endpoint, deadline: float) -> None:
        """Returns once the server accepts a login. Raises the last error at the deadline (time.monotonic)."""
        while True:
            try:
                with self._session(at):
                    return
            except pymysql.err.OperationalError:
                if time.monotonic() >= deadline:
                    raise
            time.sleep(0.2)

    def write(self, at: Endpoint, run_id: str, first: int, count: int) -> list[Row]:
        """Inserts rows that carry the allocation's id, numbered from ``first``; returns them once committed."""
        rows = [Row(run_id, number, at.allocation_id, at.node_name) for number in range(first, first + count)]
        with self._session(at) as (connection, cursor):
            cursor.execute(f"CREATE DATABASE IF NOT EXISTS {DATABASE}")
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

        Gives what raises MySQLError where the session has ended, with which the server lets writes through again.
        """
        with self._session(at) as (_, cursor):
            # The lock would end with a session that the server thinks idle.
            cursor.execute("SET SESSION wait_timeout = 86400")
            # While it waits for a long query, all other writes wait too; shorter than this client waits.
            cursor.execute("SET SESSION lock_wait_timeout = 20")
            cursor.execute("FLUSH TABLES WITH READ LOCK")
            # The end of the session releases the lock, also if this process dies.

            def refuse_ended() -> None:
                cursor.execute("SELECT 1")

            yield refuse_ended

    def ask(self, at: Endpoint, statement: str) -> list[tuple[Any, ...]]:
        """Returns the rows of one statement."""
        with self._session(at) as (_, cursor):
            cursor.execute(statement)
            return list(cursor.fetchall())

    @contextmanager
    def _session(self, at: Endpoint) -> Iterator[tuple[Connection[Cursor], Cursor]]:
        connection = self._connect(at)
        try:
            with connection.cursor() as cursor:
                yield connection, cursor
        finally:
            connection.close()

    def _connect(self, at: Endpoint) -> Connection[Cursor]:
        try:
            return pymysql.connect(
                host=at.host,
                port=at.port,
                user=self._user,
                password=self._password,
                ssl=self._tls,
                ssl_disabled=self._tls is None,
                connect_timeout=5,
                read_timeout=30,
            )
        except pymysql.err.OperationalError as error:
            if isinstance(getattr(error, "original_exception", None), ssl.SSLCertVerificationError):
                raise UntrustedError(
                    f"the server at {at.host}:{at.port} does not have the certificate of mysql.tlsCertificate: "
                    f"{error.args[1]}. No password was sent. Check which server that is; after a change of the "
                    "certificate run `pulumi up`"
                ) from error
            if error.args[0] == CR.CR_SSL_CONNECTION_ERROR and self._tls is not None:
                raise UntrustedError(
                    f"the server at {at.host}:{at.port} does not encrypt: {error.args[1]}. No password was sent. If it "
                    "cannot encrypt, set mysql.tls: off and run `pulumi up`"
                ) from error
            raise
