"""What the agent makes of MySQL's answers."""

from __future__ import annotations

import socket
import struct
from collections.abc import Sequence
from pathlib import Path
from threading import Thread
from typing import Any, Self

import pymysql
import pytest

from nomad_stateful.agent.membership.account import verified
from nomad_stateful.agent.server import NEEDED, MySqlServer, ServerError, State, session

OPTIONS = Path(__file__)
"""What can be read; PyMySQL is replaced."""
_WAITING = (
    "SELECT COUNT(*) FROM performance_schema.processlist WHERE state LIKE 'Executing hook%' "
    "AND user = SUBSTRING_INDEX(USER(), '@', 1)"
)
_BEFORE = "SET SESSION group_replication_consistency = 'BEFORE'"


class Answers:
    """A connection, and its cursor, to a server that has variables."""

    def __init__(self, values: dict[str, str]) -> None:
        self.values = values
        self.asked: list[str] = []
        self.read_only = 1
        self.waiting = 0
        """Sessions that wait for the group."""
        self._rows: Sequence[Sequence[Any]] = ()

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
        state = ("a-uuid", "a-uuid:1-5", self.read_only)
        counted = {"SELECT @@GLOBAL.super_read_only": self.read_only, _WAITING: self.waiting}.get(statement)
        self._rows = known if names else [state] if counted is None else [(counted,)]

    def fetchall(self) -> Sequence[Sequence[Any]]:
        return self._rows

    def fetchone(self) -> Sequence[Any]:
        return self._rows[0]


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


def test_a_single_server_that_is_read_only_is_no_secondary(answers: Answers) -> None:
    assert not MySqlServer(OPTIONS).state().is_secondary
    assert _BEFORE not in answers.asked


def test_a_groups_secondary_is_not_waited_for(answers: Answers) -> None:
    assert MySqlServer(OPTIONS, in_group=True).state().is_secondary
    assert _BEFORE not in answers.asked


def test_a_groups_primary_answers_with_all_that_the_group_committed_before(answers: Answers) -> None:
    answers.read_only = 0
    assert not MySqlServer(OPTIONS, in_group=True).state().is_secondary
    before, asked = answers.asked.index(_BEFORE), next(one for one in answers.asked if "gtid_executed" in one)
    assert before < answers.asked.index(asked)


def test_while_a_question_waits_for_a_majority_no_other_is_asked(answers: Answers) -> None:
    answers.read_only, answers.waiting = 0, 1
    with pytest.raises(ServerError, match="the group has no majority"):
        MySqlServer(OPTIONS, in_group=True).state()


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


def test_a_server_that_is_silent_from_its_greeting_on_is_not_waited_for() -> None:
    """As one whose host is lost or paused during the TLS handshake."""
    rest = struct.pack("<HBHH", 0xFFFF, 255, 2, 0xFFFF) + b"\x15" + bytes(10) + b"b" * 12 + b"\0caching_sha2_password\0"
    greeting = b"\x0a9.7.4\0" + struct.pack("<I", 1) + b"a" * 8 + b"\0" + rest
    with socket.create_server(("127.0.0.1", 0)) as server:
        ends: list[Exception] = []
        how = {"host": "db-2", "user": "group", "password": "p", "ssl": verified(None), "read_timeout": 0.2}

        def ask() -> None:
            try:
                with session("127.0.0.1", port=server.getsockname()[1], connect_timeout=5, **how):
                    pass
            except ServerError as error:
                ends.append(error)

        thread = Thread(target=ask, daemon=True)
        thread.start()
        connection, _ = server.accept()
        with connection:
            connection.sendall(struct.pack("<I", len(greeting)) + greeting)
            thread.join(30)
    assert "timed out" in str(ends)
