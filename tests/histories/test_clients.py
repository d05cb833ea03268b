"""What clients write down of a database with a planted defect, the judge finds; of one without, it finds nothing."""

import contextlib
import random
import re
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tools.histories.clients import CLIENTS, Session, make_tables
from tools.histories.history import History
from tools.histories.judge import Verdict, judge
from tools.histories.statements import MYSQL

SQL = replace(MYSQL, insert="INSERT OR IGNORE INTO {}", tables=MYSQL.tables[1:])
Defect = Callable[["Database", str, tuple[Any, ...]], bool]
"""What a database does in the place of a statement; whether it did."""


class Database:
    """One connection to a database in memory, which takes MySQL's statements."""

    def __init__(self, defect: Defect = lambda _database, _statement, _values: False) -> None:
        self.stored = sqlite3.connect(":memory:")
        self.stored.execute("ATTACH ':memory:' AS faults")
        self.stored.create_function("CONCAT", 2, lambda one, other: one + other)
        self.defect = defect
        self.draw = random.Random(1)
        self.breaks = 0.0
        """How often a commit breaks the connection; whether it took effect, nobody knows."""
        self.forgets = False
        """Whether the transaction is not committed, and acknowledged."""
        self.answer: list[Any] | None = None
        """What the next read has, in the place of what is there."""

    def cursor(self) -> "Cursor":
        return Cursor(self)

    def commit(self) -> None:
        breaks = self.draw.random() < self.breaks
        (self.rollback if self.forgets or (breaks and self.draw.random() < 0.5) else self.stored.commit)()
        self.forgets = False
        if breaks:
            raise ConnectionResetError("gone")

    def rollback(self) -> None:
        self.stored.rollback()

    def run(self, statement: str, values: tuple[Any, ...]) -> sqlite3.Cursor:
        return self.stored.execute(statement.replace("%s", "?"), values)


class Cursor:
    """What executes."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.rowcount = 1

    def execute(self, statement: str, values: tuple[Any, ...]) -> None:
        if not self.database.defect(self.database, statement, values):
            self.done = self.database.run(statement, values)
            self.rowcount = self.done.rowcount

    def fetchall(self) -> list[Any]:
        rows, self.database.answer = self.database.answer, None
        return self.done.fetchall() if rows is None else rows


def seldom(database: Database, statement: str, part: str) -> bool:
    return part in statement and database.draw.random() < 0.05


def forgets(part: str) -> Defect:
    def defect(database: Database, statement: str, _values: tuple[Any, ...]) -> bool:
        database.forgets = database.forgets or seldom(database, statement, part)
        return False

    return defect


def appends_twice(database: Database, statement: str, values: tuple[Any, ...]) -> bool:
    if seldom(database, statement, "CONCAT"):
        database.run(statement, values)
    return False


def prepends(database: Database, statement: str, values: tuple[Any, ...]) -> bool:
    if twisted := seldom(database, statement, "CONCAT"):
        database.run(statement.replace("(body, %s)", "(%s, body)"), values)
    return twisted


def stores_what_it_refuses(database: Database, statement: str, values: tuple[Any, ...]) -> bool:
    if seldom(database, statement, "UPDATE"):
        database.run(statement, values)
        database.stored.commit()
        raise sqlite3.OperationalError("refused")
    return False


def transfers_half(database: Database, statement: str, _values: tuple[Any, ...]) -> bool:
    return seldom(database, statement, "balance + ")


def answers_from_before(part: str) -> Defect:
    """Sometimes answers a read as the last time that it was asked the same."""
    seen: dict[tuple[Any, ...], list[Any]] = {}

    def defect(database: Database, statement: str, values: tuple[Any, ...]) -> bool:
        if part not in statement:
            return False
        if again := values in seen and database.draw.random() < 0.2:
            database.answer = seen[values]
        else:
            seen[values] = database.run(statement, values).fetchall()
        return again

    return defect


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    history = History(tmp_path / "history.jsonl")
    yield history
    history.close()


def written(history: History, database: Database, acts: int = 900) -> Verdict:
    """What the judge says of a history of so many operations."""
    draw = random.Random(2)
    session = Session("client", "data", database, history, SQL)
    make_tables(session)
    for _ in range(acts):
        with contextlib.suppress(ConnectionResetError, sqlite3.OperationalError):
            draw.choice(CLIENTS).act(session, draw)
        database.rollback()
    for client in CLIENTS:
        client.read_all(session)
    return judge(history.path)


def test_of_a_database_without_a_defect_nothing_is_found(history: History) -> None:
    verdict = written(history, Database())
    assert verdict.right, verdict.text
    assert verdict.counts["ok"] > 700
    assert verdict.counts["failed"] > 10, "no transfer was refused"
    assert history.newest > 200, "there is one register alone"


def test_a_commit_that_was_not_answered_may_have_happened_or_not(history: History) -> None:
    database = Database()
    session = Session("client", "data", database, history, SQL)
    make_tables(session)
    database.breaks = 0.1
    draw = random.Random(3)
    for _ in range(600):
        with contextlib.suppress(ConnectionResetError):
            draw.choice(CLIENTS).act(session, draw)
        database.rollback()
    database.breaks = 0.0
    for client in CLIENTS:
        client.read_all(session)
    verdict = judge(history.path)
    assert verdict.right, verdict.text
    assert verdict.counts["unknown"] > 20


@pytest.mark.parametrize(
    ("defect", "said"),
    [
        (forgets("faults.registers SET"), ("lost: register", "stale: register")),
        (forgets("CONCAT"), ("lost: list",)),
        (appends_twice, ("duplicated: list",)),
        (prepends, ("reordered: list",)),
        (stores_what_it_refuses, ("phantom: list", "phantom: register", "broken total: bank")),
        (transfers_half, ("broken total: bank",)),
        (answers_from_before("SELECT value"), ("stale: register", "lost: register")),
        (answers_from_before("SELECT body"), ("stale: list",)),
    ],
)
def test_a_planted_defect_is_found(defect: Defect, said: tuple[str, ...], history: History) -> None:
    told = written(history, Database(defect)).text
    kinds = set(re.findall(r"^  (\w.*?: \w+) ", told, re.MULTILINE))
    assert kinds, told
    assert kinds <= set(said), told


def test_what_failed_before_it_was_committed_is_failed(history: History) -> None:
    def breaks(_database: Database, statement: str, _values: tuple[Any, ...]) -> bool:
        if "CONCAT" in statement:
            raise ConnectionResetError("gone")
        return False

    verdict = written(history, Database(breaks), 60)
    assert verdict.right, verdict.text
    assert verdict.counts["unknown"] == 0


def test_what_is_no_history_is_not_right(tmp_path: Path) -> None:
    (tmp_path / "history.jsonl").write_text("nothing of the kind\n")
    verdict = judge(tmp_path / "history.jsonl")
    assert not verdict.right
    assert "line 1" in verdict.text
