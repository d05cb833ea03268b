"""What commands do with a database server: how they log in, what they ask, and what runs beside it.

It is apart from the description, since it takes the server's client library.
"""

import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

from nomad_stateful.databases.upgrades import Upgrades


class Cursor(Protocol):
    """A cursor as DB-API has it, with parameters as %s."""

    def execute(self, statement: str, parameters: tuple[Any, ...] = ..., /) -> object:
        """Runs a statement."""

    def executemany(self, statement: str, parameters: Sequence[tuple[Any, ...]], /) -> object:
        """Runs a statement with each of the parameters."""

    def fetchall(self) -> Sequence[Any]:
        """Returns the rows of the last statement."""

    def close(self) -> None:
        """Ends it."""


class Connection(Protocol):
    """A session as DB-API has it."""

    def cursor(self) -> Cursor:
        """Returns a cursor."""

    def commit(self) -> None:
        """Commits what its cursors wrote."""

    def close(self) -> None:
        """Ends the session."""


class UnverifiedError(Exception):
    """The server has another certificate than was asked for; no password was sent to it."""


class UnencryptedError(Exception):
    """The server does not encrypt; no password was sent to it."""


class Connect(Protocol):
    """How a session begins."""

    def __call__(self, host: str, port: int, user: str, password: str, tls: ssl.SSLContext | None) -> Connection:
        """Logs in, encrypted by a context or not. Raises UnverifiedError, UnencryptedError and the library's errors."""


@dataclass(frozen=True)
class Drill:
    """How a restored server is checked, by a task with its image in its allocation."""

    script: str
    """Text of a shell script: it waits for the server, loads a dump by restore.sh where DRILL_DUMP is set, checks each
    table and counts its rows, and runs newest.sql where that is in the task's folder. It logs in by the socket.

    It prints lines of fields between tabs, the first of which is `drill`: answers VERSION; silent WHY (nobody is let in
    within DRILL_PATIENCE seconds); loading, loaded or unloaded WHY; tables N, checking NAME, table NAME ROWS STATUS;
    newest TIME; failed WHY; done.
    """
    quiet: tuple[str, ...]
    """Arguments with which the server runs nothing by itself."""
    own_tables: tuple[str, ...]
    """How the names of the tables begin that are nobody's data: the server's own, and those of `verify`."""
    dump_ending: str
    """Of its dumps' names, as sql.gz."""


@dataclass(frozen=True)
class Operations:
    """What commands do with one database server."""

    connect: Connect
    errors: tuple[type[Exception], ...]
    """What the client library raises."""
    holding: tuple[str, ...]
    """Statements that hold all writes until the session ends; none where the server has no way to."""
    client: str
    """Shell text that runs the client as the superuser in the server's task, with its arguments."""
    upgrades: Upgrades
    drill: Drill


def operations(name: str) -> Operations:
    """Returns those of a database of the catalogue; its client library is imported for it alone."""
    found: Operations = import_module(f"nomad_stateful.databases.{name}.operations").OPERATIONS
    return found
