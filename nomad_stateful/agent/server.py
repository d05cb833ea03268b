"""What the agent asks of MySQL, by the server's socket."""

import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pymysql
from pymysql.cursors import Cursor

NEEDED: Mapping[str, str] = {
    "gtid_mode": "ON",
    "enforce_gtid_consistency": "ON",
    "log_bin": "ON",
    "sync_binlog": "1",
    "innodb_flush_log_at_trx_commit": "1",
    "binlog_format": "ROW",
    "binlog_error_action": "ABORT_SERVER",
    "binlog_encryption": "OFF",
}
"""What a server has to run with for its binary logs to have every transaction, whoever set it."""
_ANSWERS_WITHIN_S = 30
# A log is closed once its transactions are on the disk.
_CLOSES_WITHIN_S = 300


class ServerError(Exception):
    """The server does not answer, or refuses; the text is its own."""


@dataclass(frozen=True)
class State:
    """What a server said at one moment."""

    uuid: str
    executed: str
    """All transactions that it has, as it writes them."""
    wrong: Mapping[str, str]
    """Values that lose transactions, by the names of their variables."""
    is_secondary: bool = False
    """Whether another member of its group writes."""


class MySqlServer:
    """The server that an option file names, as mysql reads it: section client, with user, password and socket."""

    def __init__(self, options: Path, *, in_group: bool = False) -> None:
        self._options = options
        self._in_group = in_group

    def state(self) -> State:
        """Asks the server; a group's primary once it has executed all that was committed before. Raises ServerError."""
        with self._session() as cursor:
            if self._in_group and not _is_read_only(cursor):
                wait_for_group(cursor)
            # Without a table it would not wait.
            cursor.execute(
                "SELECT @@server_uuid, @@GLOBAL.gtid_executed, @@GLOBAL.super_read_only "
                "FROM information_schema.schemata LIMIT 1"
            )
            [(uuid, executed, read_only)] = cursor.fetchall()
            names = ", ".join(["%s"] * len(NEEDED))
            cursor.execute(f"SHOW GLOBAL VARIABLES WHERE Variable_name IN ({names})", tuple(NEEDED))
            values = dict(cursor.fetchall())
        wrong = {name: str(values.get(name, "")) for name in NEEDED if values.get(name) != NEEDED[name]}
        return State(str(uuid), str(executed), wrong, self._in_group and bool(read_only))

    def close_log(self) -> None:
        """Closes the binary log, and begins another. Raises ServerError."""
        with self._session(_CLOSES_WITHIN_S) as cursor:
            cursor.execute("FLUSH NO_WRITE_TO_BINLOG BINARY LOGS")

    def _session(self, within_s: float = _ANSWERS_WITHIN_S) -> AbstractContextManager[Cursor]:
        return own_session(self._options, _ANSWERS_WITHIN_S, within_s)


def _is_read_only(cursor: Cursor) -> bool:
    cursor.execute("SELECT @@GLOBAL.super_read_only")
    return cursor.fetchone() != (0,)


def wait_for_group(cursor: Cursor) -> None:
    """Has what is asked next wait until the server executed all that its group committed before. Raises ServerError.

    Without a majority it waits for ever, also once nobody listens any more.
    https://dev.mysql.com/doc/refman/9.7/en/group-replication-configuring-consistency-guarantees.html
    """
    # Sessions of programs may ask for the same.
    cursor.execute(
        "SELECT COUNT(*) FROM performance_schema.processlist WHERE state LIKE 'Executing hook%' "
        "AND user = SUBSTRING_INDEX(USER(), '@', 1)"
    )
    if cursor.fetchone() != (0,):
        raise ServerError("the group has no majority: an earlier question still waits for it")
    cursor.execute("SET SESSION group_replication_consistency = 'BEFORE'")


@contextmanager
def own_session(options: Path, connects_within_s: float, within_s: float) -> Iterator[Cursor]:
    """Opens a session by an option file's section client. Raises ServerError."""
    try:
        # PyMySQL passes over one that it cannot read, and asks another server.
        options.read_bytes()
    except OSError as error:
        raise ServerError(f"{options} cannot be read by user {os.geteuid()}: {error.strerror}") from None
    with session(
        read_default_file=str(options),
        read_default_group="client",
        connect_timeout=connects_within_s,
        read_timeout=within_s,
    ) as cursor:
        yield cursor


@contextmanager
def session(address: str = "", **how: Any) -> Iterator[Cursor]:
    """Opens a session, as PyMySQL takes its arguments; at an address, if it is not the host's. Raises ServerError."""
    try:
        # In the TLS handshake it is what ends a read too.
        with pymysql.connect(defer_connect=True, write_timeout=how["read_timeout"], **how) as connection:
            connection.connect(_socket(address, how) if address else None)
            with connection.cursor() as cursor:
                yield cursor
    except OSError as error:
        raise ServerError(f"{address} does not answer: {error.strerror or error}") from None
    except pymysql.err.MySQLError as error:
        raise ServerError(" ".join(map(str, error.args))) from None


def _socket(address: str, how: Mapping[str, Any]) -> socket.socket:
    made = socket.create_connection((address, how["port"]), how["connect_timeout"])
    made.settimeout(None)
    return made
