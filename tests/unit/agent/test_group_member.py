"""What the agent says to the servers, in which order, and what it leaves where something fails in between."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pymysql.err import OperationalError

from nomad_stateful.agent.membership import member as module
from nomad_stateful.agent.membership.account import Account
from nomad_stateful.agent.membership.member import ChangedError, Member
from nomad_stateful.agent.server import ServerError
from nomad_stateful.databases.mysql.group import GRANTS, REPLICATION
from tests.unit.agent.group_world import GROUP_ID, NAMES, group

PASSWORD = "of-the-group"
ACCOUNT = "%s@'%%'"


@dataclass
class Sessions:
    """Sessions of servers by name: what each is told, as NAME: STATEMENT, and what fails."""

    told: list[str] = field(default_factory=list)
    fails: str = ""
    busy: str = ""
    state: str = "OFFLINE"
    executed: str = ""
    databases: int = 0
    """That the server has which begins."""
    clients: dict[int, tuple[str, str]] = field(default_factory=dict)
    """User and host of each session, by its number; one that is killed is gone."""
    gone: int = 0
    """The number of one that ends by itself meanwhile."""
    own: tuple[object, ...] = ("OFFLINE", "", 1, 0, 1, 1, 0, NAMES[0])
    """What that one says: its state, role, modes, members in view, and their names."""
    silent: str = ""

    @contextmanager
    def opened(self, name: str) -> Iterator[Any]:
        if name == self.silent:
            raise ServerError("2003 refused")
        yield Cursor(self, name)
        self.told.append(f"{name}: closed")


@dataclass
class Cursor:
    sessions: Sessions
    name: str
    row: tuple[object, ...] = ()
    rows: list[tuple[int]] = field(default_factory=list)

    def fetchall(self) -> list[tuple[int]]:
        return self.rows

    def execute(self, statement: str, values: tuple[Any, ...] = ()) -> None:
        words = " ".join(statement.split())
        if "processlist" in words:
            assert "host LIKE '%%:%%' AND user <> %s" in words
            known = self.sessions.clients.items()
            self.rows = [(number,) for number, (user, host) in known if ":" in host and user != values[0]]
        if words.startswith("KILL"):
            if values[0] == self.sessions.gone:
                raise OperationalError(1094, "Unknown thread id")
            del self.sessions.clients[values[0]]
        self.sessions.told.append(f"{self.name}: {words[:60]}")
        if self.sessions.fails and words.startswith(self.sessions.fails):
            raise ServerError("3092 refused")
        self.row = (int(self.name != self.sessions.busy),)
        if "schemata" in words:
            self.row = (self.sessions.databases,)
        if "information_schema.events" in words:
            self.row = (0,)
        if "me.member_state" in words:
            peer = (self.sessions.state, "", 1, 0, 1, 1, 0, self.name)
            said = self.sessions.own if self.name == NAMES[0] else peer
            self.row = (self.name, GROUP_ID, *said, self.sessions.executed, None)

    def fetchone(self) -> tuple[object, ...]:
        return self.row


@pytest.fixture
def sessions(monkeypatch: pytest.MonkeyPatch) -> Sessions:
    made = Sessions()
    monkeypatch.setattr(module, "own_session", lambda *_: made.opened(NAMES[0]))
    monkeypatch.setattr(module, "session", lambda **how: made.opened(how["host"]))
    return made


@pytest.fixture
def member(sessions: Sessions, tmp_path: Path) -> Member:
    options = tmp_path / "replication.cnf"
    options.write_text(f"[client]\nuser = replication\npassword = {PASSWORD}\n")
    return Member(group(), tmp_path, options, tmp_path / "stopped-events")


def told(sessions: Sessions, *words: str) -> list[str]:
    return [one for one in sessions.told if any(word in one for word in words)]


def test_sessions_of_clients_are_ended_and_no_other(sessions: Sessions, member: Member) -> None:
    kept = {1: ("root", "localhost"), 2: ("replication", "10.0.0.2:4711"), 3: ("system user", "")}
    sessions.clients = {**kept, 7: ("app", "10.0.0.9:1"), 8: ("app", "10.0.0.9:2"), 9: ("root", "[fd00::9]:3")}
    sessions.gone = 7
    member.end_clients()
    del sessions.clients[7]
    assert sessions.clients == kept


def test_all_are_locked_before_any_is_asked_and_until_the_group_has_begun(sessions: Sessions, member: Member) -> None:
    member.begin()
    order = told(sessions, "GET_LOCK", "SELECT @@server_uuid", "START", "closed")
    steps = ["SELECT GET_LOCK", "SELECT @@server_uuid", "START", "closed"]
    assert [next(one for one in steps if one in line) for line in order] == [
        *steps[:1] * 3,
        *steps[1:2] * 3,
        "START",
        *["closed"] * 3,
    ]
    assert {line.split(":")[0] for line in order[:3]} == set(NAMES)
    assert told(sessions, "bootstrap") == [
        f"{NAMES[0]}: SET GLOBAL group_replication_bootstrap_group = {on}" for on in ("ON", "OFF")
    ]


def test_a_server_with_data_begins_so_that_the_others_copy_all_of_it(sessions: Sessions, member: Member) -> None:
    member.begin()
    assert told(sessions, "RESET", "gtid_purged", "super_read_only") == []
    # START is refused in a transaction.
    assert [line.split()[1] for line in told(sessions, "schemata", "COMMIT", "START")] == ["SELECT", "COMMIT", "START"]
    sessions.told.clear()
    sessions.databases = 1
    member.begin()
    assert told(sessions, "RESET", "gtid_purged", "super_read_only", "START") == [
        f"{NAMES[0]}: SET GLOBAL super_read_only = OFF",
        f"{NAMES[0]}: RESET BINARY LOGS AND GTIDS",
        f"{NAMES[0]}: SET GLOBAL gtid_purged = %s",
        f"{NAMES[0]}: SET GLOBAL super_read_only = ON",
        *told(sessions, "START"),
    ]


def test_a_server_whose_first_start_ran_scripts_has_the_others_copy_it(sessions: Sessions, tmp_path: Path) -> None:
    options = tmp_path / "replication.cnf"
    options.write_text(f"[client]\nuser = replication\npassword = {PASSWORD}\n")
    Member(group(), tmp_path, options, tmp_path / "stopped-events", has_scripts=True).begin()
    assert told(sessions, "gtid_purged") == [f"{NAMES[0]}: SET GLOBAL gtid_purged = %s"]


def test_a_server_with_data_that_never_was_in_the_group_copies_one_that_is(sessions: Sessions, member: Member) -> None:
    member.join()
    assert told(sessions, "clone_threshold") == []
    sessions.told.clear()
    sessions.databases = 1
    member.join()
    assert told(sessions, "clone_threshold", "START") == [
        f"{NAMES[0]}: SET GLOBAL group_replication_clone_threshold = 1",
        *told(sessions, "START"),
    ]
    sessions.told.clear()
    sessions.executed = f"{GROUP_ID}:1-7"
    member.join()
    assert told(sessions, "clone_threshold") == []


@pytest.mark.parametrize("busy", NAMES)
def test_a_server_that_another_session_has_locked_keeps_it_from_beginning(
    sessions: Sessions, member: Member, busy: str
) -> None:
    sessions.busy = busy
    with pytest.raises(ChangedError, match="is being started by another session"):
        member.begin()
    assert told(sessions, "START", "bootstrap") == []


def test_what_changed_before_the_locks_keeps_it_from_beginning(sessions: Sessions, member: Member) -> None:
    sessions.state = "RECOVERING"
    with pytest.raises(ChangedError, match="member-2 is RECOVERING and member-3 is RECOVERING"):
        member.begin()
    assert told(sessions, "START", "bootstrap") == []


def test_old_answers_keep_it_from_beginning(
    sessions: Sessions, member: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_OLDEST_S", -1.0)
    with pytest.raises(ChangedError, match=r"the answers took \d+ s"):
        member.begin()
    assert told(sessions, "START", "bootstrap") == []


def test_a_beginning_that_fails_leaves_no_server_that_begins(sessions: Sessions, member: Member) -> None:
    sessions.fails = "START GROUP_REPLICATION"
    with pytest.raises(ServerError, match="3092"):
        member.begin()
    assert told(sessions, "bootstrap")[-1].endswith("= OFF")


def test_whoever_joins_has_the_lock_and_takes_back_what_an_earlier_agent_left(
    sessions: Sessions, member: Member
) -> None:
    member.join()
    assert [line.removeprefix("member-1: ").partition(" WHERE")[0] for line in sessions.told] == [
        "SET SESSION wait_timeout = %s",
        "SELECT GET_LOCK(%s, 0)",
        "SELECT @@server_uuid, @@GLOBAL.group_replication_group_name,",
        "SELECT COUNT(*) FROM information_schema.schemata",
        "COMMIT",
        "SET GLOBAL group_replication_force_members = ''",
        "SET GLOBAL group_replication_bootstrap_group = OFF",
        "START GROUP_REPLICATION USER = %s, PASSWORD = %s",
        "closed",
    ]
    sessions.busy = NAMES[0]
    with pytest.raises(ChangedError):
        member.join()


@pytest.mark.parametrize("fails", ["SET SESSION", "CREATE USER", "ALTER USER", "GRANT", "nothing"])
def test_the_account_is_made_unlogged_and_the_server_is_read_only_again(
    sessions: Sessions, member: Member, fails: str
) -> None:
    sessions.fails = fails
    if fails == "nothing":
        member.prepare()
        sessions.told.pop()
    else:
        with pytest.raises(ServerError):
            member.prepare()
    lines = [line.removeprefix("member-1: ") for line in sessions.told]
    assert lines[1:5] == [
        "COMMIT",
        "SET GLOBAL offline_mode = ON",
        "SET GLOBAL super_read_only = OFF",
        "SET SESSION sql_log_bin = 0",
    ]
    assert lines[-2:] == ["SET GLOBAL super_read_only = ON", "SET GLOBAL offline_mode = OFF"]


def test_the_account_gets_the_privileges_of_the_groups_description(sessions: Sessions, member: Member) -> None:
    member.prepare()
    assert told(sessions, "GRANT") == [f"{NAMES[0]}: {grant.format(account=ACCOUNT)[:60]}" for grant in GRANTS]
    assert GRANTS[0] == f"GRANT {REPLICATION.account.privileges} ON *.* TO {{account}}"


@pytest.mark.parametrize("text", ["", "[client]\nuser = replication\n", f"password = {PASSWORD}\n"])
def test_an_option_file_without_the_account_is_named_and_not_shown(tmp_path: Path, text: str) -> None:
    options = tmp_path / "replication.cnf"
    options.write_text(text)
    with pytest.raises(ServerError, match=r"replication\.cnf has to have user and password") as refused:
        Account.read(options)
    assert PASSWORD not in str(refused.value)
    assert PASSWORD not in repr(Account("replication", PASSWORD))


def test_accounts_are_made_where_the_table_of_the_group_is_missing(sessions: Sessions, member: Member) -> None:
    """Who marked the group was cut off between the database and the table."""
    member.make_accounts(["CREATE USER app"])
    steps = told(sessions, "CREATE", "SELECT COUNT", "REPLACE", "COMMIT")
    assert [line.split(": ")[1].split(" nomad_stateful")[0] for line in steps][:3] == [
        "CREATE DATABASE IF NOT EXISTS",
        "CREATE TABLE IF NOT EXISTS",
        "SELECT COUNT(*) FROM",
    ]


def without(reachable: int, state: str = "ONLINE") -> tuple[object, ...]:
    """Says of itself a member whose view has one other, after a third was expelled."""
    return (state, "SECONDARY", 1, 0, 2, reachable, reachable, ",".join(NAMES[:2]))


def test_a_member_that_may_goes_on_alone_and_takes_the_variable_back(sessions: Sessions, member: Member) -> None:
    sessions.own, sessions.silent = without(1), NAMES[2]
    member.go_on_alone()
    assert told(sessions, "GET_LOCK", "force_members") == [
        "member-1: SELECT GET_LOCK(%s, 0)",
        "member-1: SET GLOBAL group_replication_force_members = @@GLOBAL.group_",
        "member-1: SET GLOBAL group_replication_force_members = ''",
    ]


@pytest.mark.parametrize(
    ("own", "peer"),
    [(without(2), "OFFLINE"), (without(1, "RECOVERING"), "OFFLINE"), (without(1), "RECOVERING")],
    ids=["it has a majority", "it has not caught up", "the other is in the group"],
)
def test_a_member_that_may_not_any_more_does_not_go_on_alone(
    sessions: Sessions, member: Member, own: tuple[object, ...], peer: str
) -> None:
    sessions.own, sessions.state, sessions.silent = own, peer, NAMES[2]
    with pytest.raises(ChangedError, match="another member is in the group again, or has more"):
        member.go_on_alone()
    assert told(sessions, "force_members") == []
