"""Clients of registers, lists and a bank: each does one operation after the other, and writes it down."""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from tools.histories.history import History
from tools.histories.statements import ACCOUNTS, BALANCE, Statements

_BLOCK: Final = 200
"""Numbers of values that share a register or list: none grows for long, and old ones are read again."""
Statement = tuple[str, tuple[Any, ...]]


class Connection(Protocol):
    """A connection of DB-API, in whose transactions the operations are."""

    def cursor(self) -> Any:
        """What executes a statement."""

    def commit(self) -> None:
        """Commits."""

    def rollback(self) -> None:
        """Takes back."""


@dataclass(frozen=True)
class Session:
    """A connection of one client, to some data, with the history of what is done there."""

    process: str
    data: str
    connection: Connection
    history: History
    sql: Statements

    def change(self, model: str, op: str, *statements: Statement, **fields: Any) -> None:
        """Executes the statements in one transaction: failed as a whole where one of them changes no row."""
        with self.history.operation(self.process, model, op, data=self.data, **fields) as returned:
            cursor = self.connection.cursor()
            for statement in statements:
                cursor.execute(*statement)
                if cursor.rowcount != 1:
                    self.connection.rollback()
                    return
            returned.outcome = "unknown"
            self.connection.commit()
            returned.outcome = "ok"

    def look(self, model: str, statement: Statement, seen: Callable[[Sequence[Any]], Any], **fields: Any) -> None:
        """Reads, in a transaction of its own: the next read sees what was committed since."""
        with self.history.operation(self.process, model, "read", data=self.data, **fields) as returned:
            cursor = self.connection.cursor()
            cursor.execute(*statement)
            rows = cursor.fetchall()
            self.connection.commit()
            returned.fields["read"], returned.outcome = seen(rows), "ok"

    def make(self, what: Hashable, *statements: Statement) -> bool:
        """Makes something in the data once for a history: what is gone later is not made again. Whether it did."""
        if (self.data, what) in self.history.made:
            return False
        for statement in statements:
            self.connection.cursor().execute(*statement)
        self.connection.commit()
        self.history.made.add((self.data, what))
        return True


class Client(Protocol):
    """One kind of client."""

    model: str

    def act(self, session: Session, draw: random.Random) -> None:
        """Does one operation."""

    def read_all(self, session: Session) -> None:
        """Reads everything once."""


class Registers:
    """Writes and reads registers."""

    model = "register"

    def act(self, session: Session, draw: random.Random) -> None:
        """Writes a new value, or reads."""
        if draw.random() < 0.5:
            return self._read(session, _some_key(session.history, draw))
        value = session.history.value()
        key = _key(session.history, value // _BLOCK)
        session.make(("register", key), (session.sql.register(), (key,)))
        return session.change("register", "write", (session.sql.write, (value, key)), key=key, value=value)

    def read_all(self, session: Session) -> None:
        """Reads each register of the history."""
        for key in _keys(session.history):
            self._read(session, key)

    def _read(self, session: Session, key: str) -> None:
        session.look("register", (session.sql.read, (key,)), lambda rows: rows[0][0] if rows else None, key=key)


class Lists:
    """Appends to lists and reads them."""

    model = "list"

    def act(self, session: Session, draw: random.Random) -> None:
        """Appends a new value, or reads."""
        if draw.random() < 0.5:
            return self._read(session, _some_key(session.history, draw))
        value = session.history.value()
        key = _key(session.history, value // _BLOCK)
        session.make(("list", key), (session.sql.new_list(), (key,)))
        return session.change("list", "append", (session.sql.append, (f"{value} ", key)), key=key, value=value)

    def read_all(self, session: Session) -> None:
        """Reads each list of the history."""
        for key in _keys(session.history):
            self._read(session, key)

    def _read(self, session: Session, key: str) -> None:
        def seen(rows: Sequence[Any]) -> list[int]:
            return [int(number) for row in rows for number in row[0].split()]

        session.look("list", (session.sql.read_list, (key,)), seen, key=key)


class Bank:
    """Moves money between accounts, none of which may fall below zero, and reads them all."""

    model = "bank"

    def act(self, session: Session, draw: random.Random) -> None:
        """Transfers an amount, or reads."""
        self._open(session)
        if draw.random() < 0.5:
            return self.read_all(session)
        source, target = draw.sample(range(ACCOUNTS), 2)
        amount = draw.randint(1, BALANCE // 2)
        # In the order of the accounts, so that two transfers never wait for each other.
        parts = sorted(((source, -amount), (target, amount)))
        statements = [(session.sql.add, (change, account, change)) for account, change in parts]
        return session.change("bank", "transfer", *statements, value={"from": source, "to": target, "amount": amount})

    def read_all(self, session: Session) -> None:
        """Reads every account."""
        self._open(session)
        session.look("bank", (session.sql.read_accounts, ()), lambda rows: [int(row[0]) for row in rows])

    def _open(self, session: Session) -> None:
        if session.make("bank", (session.sql.accounts(), ())):
            session.change("bank", "open", value=[BALANCE] * ACCOUNTS)


CLIENTS: Final[tuple[Client, ...]] = (Registers(), Lists(), Bank())


def make_tables(session: Session) -> None:
    """Makes what the clients work on."""
    session.make("tables", *((statement, ()) for statement in session.sql.tables))


def _key(history: History, block: int) -> str:
    return f"{history.tag}-{block}"


def _keys(history: History) -> Iterator[str]:
    return (_key(history, block) for block in range(history.newest // _BLOCK + 1))


def _some_key(history: History, draw: random.Random) -> str:
    """Mostly the key that is written to."""
    newest = history.newest // _BLOCK
    return _key(history, newest if draw.random() < 0.75 else draw.randint(0, newest))
