"""What the agent makes of MySQL's answers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import pymysql
import pytest

from nomad_stateful.agent.server import NEEDED, MySqlServer, ServerError, State

OPTIONS = Path(__file__)
"""What can be read; PyMySQL is replaced."""


class Answers:
    """A connection, and its cursor, to a server that has variables."""

    def __init__(self, values: dict[str, str]) -> None:
        self.values = values
        self.asked: list[str] = []
        self._rows: Sequence[Sequence[str]] = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Ends nothing."""

    def connect(self, _socket: None) -> None:
        """Reaches it."""

    def cursor(self) -> Self:
        return self

    def execute(self, statement: str, names: Sequence[str] = ()) -> None:
        self.asked.append(statement)
        known = [(name, self.values[name]) for name in names if name in self.values]
        self._rows = known if names else [("a-uuid", "a-uuid:1-5")]

    def fetchall(self) -> Sequence[Sequence[str]]:
        return self._rows


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Answers:
    made = Answers({**NEEDED, "port": "3306"})
    monkeypatch.setattr(pymysql, "connect", lambda **_: made)
    return made


def test_a_server_that_runs_as_it_needs_to_has_nothing_wrong(answers: Answers) -> None:
    assert MySqlServer(OPTIONS).state() == State("a-uuid", "a-uuid:1-5", {})


@pytest.mark.parametrize("name", NEEDED)
def test_each_value_but_the_one_that_is_needed_is_wrong(answers: Answers, name: str) -> None:
    answers.values[name] = f"{NEEDED[name]}_PERMISSIVE"
    assert MySqlServer(OPTIONS).state().wrong == {name: f"{NEEDED[name]}_PERMISSIVE"}
    # As a release of MySQL that has it no more.
    del answers.values[name]
    assert MySqlServer(OPTIONS).state().wrong == {name: ""}


def test_a_log_is_closed_on_this_server_alone(answers: Answers) -> None:
    MySqlServer(OPTIONS).close_log()
    assert answers.asked == ["FLUSH NO_WRITE_TO_BINLOG BINARY LOGS"]


def test_what_the_server_refuses_is_in_its_own_words(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(**_: Any) -> None:
        raise pymysql.err.OperationalError(1045, "Access denied")

    monkeypatch.setattr(pymysql, "connect", refused)
    for ask in (MySqlServer(OPTIONS).state, MySqlServer(OPTIONS).close_log):
        with pytest.raises(ServerError, match="1045 Access denied"):
            ask()


def test_an_option_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ServerError, match=r"client\.cnf cannot be read by user \d+: No such file"):
        MySqlServer(tmp_path / "client.cnf").state()
