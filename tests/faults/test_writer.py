"""The writer's bookkeeping: what was acknowledged, and nothing else, has to be there."""

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tools.faults.writer import Writer


class Table:
    """Rows in memory, and ways to lose them."""

    def __init__(self) -> None:
        self.data = "first"
        self.stored: list[int] = []
        self.sessions = 0
        self.breaks_at: dict[int, bool] = {}
        """Numbers whose commit breaks the connection; whether the row was stored before that."""
        self.ends = False
        self.lock = threading.Lock()

    @contextlib.contextmanager
    def session(self) -> Iterator[tuple[str, Callable[[int], None]]]:
        self.sessions += 1
        yield self.data, self.commit

    def commit(self, number: int) -> None:
        with self.lock:
            self._commit(number)

    def _commit(self, number: int) -> None:
        if self.ends:
            self.ends = False
            raise ConnectionResetError("moved")
        if number in self.breaks_at:
            if self.breaks_at[number]:
                self.stored.append(number)
            raise ConnectionResetError("gone")
        self.stored.append(number)

    def rows(self) -> tuple[str, list[int]]:
        return self.data, list(self.stored)

    def move(self, data: str, stored: list[int]) -> list[int]:
        """Has other data from the next session on, which begins at once; what was stored before."""
        with self.lock:
            before, self.data, self.stored, self.ends = self.stored, data, stored, True
        return before


@pytest.fixture
def database() -> Table:
    return Table()


@pytest.fixture
def writer(database: Table, tmp_path: Path) -> Iterator[Writer]:
    writer = Writer(database, tmp_path, pause_s=0.001)
    yield writer
    writer.end()


def appended(writer: Writer) -> list[int]:
    """What the history on disk has as acknowledged, in order."""
    lines = [json.loads(line) for line in writer.history.path.read_text().splitlines()]
    values = {line["id"]: line["value"] for line in lines if line.get("op") == "append"}
    return [values[line["id"]] for line in lines if line.get("outcome") == "ok" and line["id"] in values]


def test_every_acknowledged_row_is_in_the_history_on_disk(writer: Writer) -> None:
    writer.begin()
    writer.await_new(20, 10)
    known = list(writer.acknowledged)
    assert appended(writer)[: len(known)] == known
    assert writer.lost() == set()
    assert writer.contradictions() == []


def test_the_judge_finds_what_the_writer_finds(writer: Writer, database: Table) -> None:
    writer.begin()
    writer.await_new(20, 10)
    database.stored.remove(7)
    assert writer.lost() == {7}
    [said] = writer.contradictions()
    assert "lost: list rows: 7 was acknowledged, and no read that began afterwards has it" in said


def test_a_history_that_ended_is_judged_once(writer: Writer, database: Table) -> None:
    writer.begin()
    writer.await_new(5, 10)
    database.stored.clear()
    assert writer.lost()
    writer.end()
    writer.begin()
    writer.await_new(5, 10)
    assert writer.lost() == set()
    [said] = writer.contradictions()
    assert "history-1.jsonl: wrong" in said
    assert writer.contradictions() == []


def test_data_that_nobody_left_is_lost(writer: Writer, database: Table) -> None:
    writer.begin()
    writer.await_new(5, 10)
    writer.leave()
    first = database.move("second", [])
    writer.await_new(5, 10)
    assert writer.moved() == "second"
    assert writer.contradictions() == []
    database.move("third", [])
    writer.await_new(5, 10)
    assert writer.moved() == "third"
    [said] = writer.contradictions()
    assert "the database has the data third in the place of second, and nobody chose that" in said
    assert first


def test_a_lost_row_is_found(writer: Writer, database: Table) -> None:
    writer.begin()
    writer.await_new(20, 10)
    database.stored.remove(7)
    assert writer.lost() == {7}


def test_an_unacknowledged_row_may_be_there_or_not(writer: Writer, database: Table) -> None:
    database.breaks_at = {3: True, 5: False}
    writer.begin()
    writer.await_new(10, 10)
    assert {3, 5} & set(writer.acknowledged) == set()
    assert 3 in database.stored
    assert writer.lost() == set()
    assert database.sessions == 3


def test_with_the_next_deployment_it_starts_afresh(writer: Writer, database: Table) -> None:
    writer.begin()
    writer.await_new(5, 10)
    first = list(writer.acknowledged)
    writer.end()
    assert writer.acknowledged == []
    database.stored.clear()
    writer.begin()
    writer.await_new(5, 10)
    assert writer.lost() == set()
    assert not set(first) & set(writer.acknowledged)
    assert writer.total >= len(first) + 5


def test_a_wait_for_commits_that_never_come_fails_with_the_last_error(writer: Writer, database: Table) -> None:
    database.breaks_at = dict.fromkeys(range(1, 1000), False)
    writer.begin()
    with pytest.raises(AssertionError, match="ConnectionResetError: gone"):
        writer.await_new(1, 0.5)


def test_rows_on_other_data_are_asked_for_once_that_is_back(writer: Writer, database: Table) -> None:
    writer.begin()
    writer.await_new(5, 10)
    first = database.move("second", [])
    writer.await_new(5, 10)
    assert set(first) & writer.lost() != set()
    assert writer.moved() == "second"
    assert writer.lost() == set()
    database.move("first", first[1:])
    writer.await_new(5, 10)
    assert writer.moved() == "first"
    assert writer.lost() == {first[0]}
