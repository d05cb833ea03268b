"""The writer's bookkeeping: what was acknowledged, and nothing else, has to be there."""

import contextlib
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


def test_every_acknowledged_row_is_in_the_log_on_disk(writer: Writer) -> None:
    writer.begin()
    writer.await_new(20, 10)
    known = list(writer.acknowledged)
    assert [int(line) for line in writer.log.read_text().split()][: len(known)] == known
    assert writer.lost() == set()


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
