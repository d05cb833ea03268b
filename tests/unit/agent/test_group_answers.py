"""What a router is answered: 200 of who may be written to or read from, and else one line of why."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.client import HTTPConnection
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pymysql.cursors import Cursor

from nomad_stateful.agent.membership.decision import Answer
from nomad_stateful.agent.membership.disk import Disk
from nomad_stateful.agent.membership.http import Answers, serve
from nomad_stateful.agent.membership.member import Member
from nomad_stateful.agent.membership.watch import Seen, Watch
from nomad_stateful.nomad.group_members import NOT_WHOLE, OUTSIDE
from tests.unit.agent.group_world import FakeMember, Servers, group, has, keeper, offline, online


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def answers(tmp_path: Path, clock: Clock) -> Answers:
    member = FakeMember(Servers({}), "member-1")
    member.group = group("member-1", first="member-3")
    watch = Watch(cast("Member", member), Disk(tmp_path, tmp_path / "kill", lambda _: None), clock)
    return Answers(watch, keeper(member, []), tmp_path / "leaving")


def saw(answers: Answers, answer: Answer, lag_s: float = 0.0) -> None:
    answers.watch.note(Seen(answers.watch.clock(), answer, lag_s, [("member-1", "ONLINE", "PRIMARY")]))


def test_a_primary_with_a_majority_may_be_written_to(answers: Answers) -> None:
    saw(answers, online("member-1"))
    assert answers.why_not("/primary", "") == ""
    saw(answers, online("member-1", reachable=2))
    assert answers.why_not("/primary", "") == ""


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (online("member-1", "SECONDARY"), "the member is SECONDARY"),
        (online("member-1", reachable=1), "it sees 1 of 3 members"),
        (replace(online("member-1"), read_only=True), "the server is read-only"),
        (replace(online("member-1"), state="ERROR"), "the member is ERROR"),
        (replace(online("member-1"), state="RECOVERING"), "the member is RECOVERING"),
        (offline("member-1"), "the member is OFFLINE"),
    ],
)
def test_no_other_may(answers: Answers, answer: Answer, why: str) -> None:
    saw(answers, answer)
    assert answers.why_not("/primary", "") == why


def test_an_old_answer_counts_for_nothing(answers: Answers, clock: Clock) -> None:
    assert answers.why_not("/primary", "") == "the server does not answer: not within 1.8 s"
    assert answers.everything()["why"] == "the server does not answer: the server was not asked yet"
    saw(answers, online("member-1"))
    clock.now += 1.6
    assert answers.why_not("/primary", "") == "the server does not answer: not within 1.8 s"
    answers.watch.why = "2013 timed out"
    answers.watch._ended(clock.now)
    for path in ("/primary", "/replica", "/healthy"):
        assert answers.why_not(path, "") == "the server does not answer: 2013 timed out"


def test_what_is_known_of_a_member_is_its_last_look_for_a_few_seconds(answers: Answers, clock: Clock) -> None:
    saw(answers, online("member-1"))
    clock.now += 3.5
    assert answers.everything()["state"] == "ONLINE"
    clock.now += 0.2
    assert answers.everything()["state"] == ""


class Handed(Watch):
    """Looks at a server whose role changes between two questions."""

    role = "PRIMARY"

    def _look(self, cursor: Cursor) -> Seen:
        return Seen(self.clock(), online("member-1", self.role))


def test_a_question_is_answered_by_a_look_that_began_after_it(tmp_path: Path) -> None:
    member = FakeMember(Servers({}), "member-1")
    watch = Handed(cast("Member", member), Disk(tmp_path, tmp_path / "kill", lambda _: None))
    answers = Answers(watch, keeper(member, []), tmp_path / "leaving")
    watch.start()
    for _ in range(20):
        watch.role = "PRIMARY"
        assert answers.why_not("/primary", "") == ""
        watch.role = "SECONDARY"
        assert answers.why_not("/primary", "") == "the member is SECONDARY"


def hears(answers: Answers, *, ordered: bool = True) -> None:
    """Waits until the group has ordered what the member asks it, or has not."""
    member = cast("FakeMember", answers.watch.member)
    member.ordered = ordered
    member.hears.set()
    end = time.monotonic() + 10
    while answers.watch._asks_group:
        assert time.monotonic() < end
        time.sleep(0.01)
    member.hears.clear()


def test_a_server_that_was_paused_is_no_primary_until_it_has_heard_from_its_group(
    answers: Answers, clock: Clock
) -> None:
    saw(answers, online("member-1"))
    clock.now += 20
    for later in (0, 1, 3, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3):
        clock.now += later
        saw(answers, online("member-1"))
        assert "was paused" in str(answers.why_not("/primary", ""))
        assert "was paused" in answers.everything()["why"]
    hears(answers, ordered=False)
    saw(answers, online("member-1"))
    assert "was paused" in str(answers.why_not("/primary", ""))
    hears(answers)
    saw(answers, online("member-1"))
    hears(answers)
    assert answers.why_not("/primary", "") == ""


def test_a_primary_that_saw_no_majority_is_one_while_it_hears_from_its_group(answers: Answers, clock: Clock) -> None:
    for _ in range(2):
        clock.now += 0.4
        saw(answers, online("member-1", reachable=1))
    clock.now += 0.4
    saw(answers, online("member-1"))
    for path in ("/primary", "/replica"):
        assert "was paused or alone" in str(answers.why_not(path, ""))
    for _ in range(5):
        clock.now += 1
        saw(answers, online("member-1"))
        hears(answers)
        assert answers.why_not("/primary", "") == answers.why_not("/replica", "") == ""
    # It was expelled, and has not heard of that yet.
    for _ in range(5):
        clock.now += 2.1
        saw(answers, online("member-1"))
        hears(answers, ordered=False)
        assert "was paused or alone" in str(answers.why_not("/primary", ""))


def test_a_question_to_the_group_that_fails_in_any_way_is_asked_again(
    answers: Answers, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    saw(answers, online("member-1"))
    clock.now += 20

    def fails() -> None:
        raise ValueError("an answer that nobody thought of")

    with monkeypatch.context() as broken:
        broken.setattr(answers.watch.member, "hear_from_group", fails)
        saw(answers, online("member-1"))
        hears(answers)
        assert "was paused" in str(answers.why_not("/primary", ""))
    saw(answers, online("member-1"))
    hears(answers)
    assert answers.why_not("/primary", "") == ""


def test_a_while_later_it_need_not_hear_any_more(answers: Answers, clock: Clock) -> None:
    saw(answers, online("member-1"))
    clock.now += 20
    saw(answers, online("member-1"))
    hears(answers)
    for _ in range(10):
        clock.now += 3
        saw(answers, online("member-1"))
        hears(answers, ordered=False)
    clock.now += 1
    saw(answers, online("member-1"))
    assert answers.why_not("/primary", "") == ""


def test_a_member_may_be_read_from_while_it_is_not_too_far_behind(answers: Answers) -> None:
    saw(answers, online("member-1", "SECONDARY"), lag_s=3.5)
    assert answers.why_not("/replica", "lag=5") == answers.why_not("/replica", "") == ""
    assert answers.why_not("/replica", "lag=3") == "it is 3.5 s behind"
    for wrong in ("lag=soon", "lag=-1", "lag=nan"):
        assert "lag has to be a number of seconds" in str(answers.why_not("/replica", wrong))
    saw(answers, online("member-1"))
    assert answers.why_not("/replica", "lag=0") == ""
    saw(answers, online("member-1", "SECONDARY", reachable=1))
    assert answers.why_not("/replica", "lag=5") == "it sees 1 of 3 members"


def test_a_member_that_waits_for_a_group_to_begin_is_healthy_once_it_reaches_the_other_one(answers: Answers) -> None:
    saw(answers, offline("member-1"))
    assert answers.why_not("/healthy", "") == "the member is OFFLINE, and has not asked the others yet"
    answers.keeper.peers = {"member-2": offline("member-2"), "member-3": "2003 refused"}
    assert answers.why_not("/healthy", "") == ""
    answers.keeper.peers = {"member-2": "2003 refused", "member-3": "2003 refused"}
    assert answers.why_not("/healthy", "") == "the member is OFFLINE, and member-2 does not answer it: 2003 refused"
    assert OUTSIDE.match(str(answers.why_not("/healthy", "")))
    cast("FakeMember", answers.watch.member).unregistered.add("member-2")
    assert answers.why_not("/healthy", "") == ""


def test_the_member_that_begins_it_is_not_before_it_has(answers: Answers) -> None:
    answers.watch.member.group = group("member-1", first="member-1")
    saw(answers, offline("member-1"))
    assert answers.why_not("/healthy", "") == "the member is OFFLINE"


def test_a_member_is_healthy_where_all_are_and_the_primary_has_made_the_accounts(answers: Answers) -> None:
    saw(answers, replace(online("member-1"), online=2))
    assert answers.why_not("/healthy", "") == "of 3 members 2 are ONLINE"
    # By which `up` knows it where it reaches no agent.
    assert NOT_WHOLE.fullmatch(str(answers.why_not("/healthy", "")))
    assert not OUTSIDE.match(str(answers.why_not("/healthy", "")))
    saw(answers, online("member-1"))
    assert answers.why_not("/healthy", "") == "databases and accounts are not made yet"
    answers.keeper.has_accounts = True
    assert answers.why_not("/healthy", "") == ""
    answers.keeper.has_accounts = False
    saw(answers, online("member-1", "SECONDARY"))
    assert answers.why_not("/healthy", "") == ""


def test_a_member_is_healthy_before_the_one_that_is_deployed_after_it(answers: Answers) -> None:
    """As beside one that serves alone, of a group whose two others were stopped."""
    two = replace(online("member-1", "SECONDARY", reachable=2), members=2, view=frozenset({"member-1", "member-2"}))
    saw(answers, two)
    assert answers.why_not("/healthy", "") == "of 3 members 2 are ONLINE"
    cast("FakeMember", answers.watch.member).unregistered.add("member-3")
    assert answers.why_not("/healthy", "") == ""
    saw(answers, replace(two, members=3, online=2, view=frozenset({"member-1", "member-2", "member-3"})))
    assert answers.why_not("/healthy", "") == "of 3 members 2 are ONLINE"


def test_an_empty_volume_of_a_group_is_healthy_where_there_is_none_to_join(answers: Answers) -> None:
    saw(answers, offline("member-1"))
    answers.keeper.peers = {"member-2": online("member-2"), "member-3": online("member-3", "SECONDARY")}
    assert answers.why_not("/healthy", "") == "the member is OFFLINE, and member-2 is in the group"
    # The third is deployed after it, and the group begins only then.
    for left in (online("member-2", reachable=1), offline("member-2", has("1")), offline("member-2", has("", "1"))):
        answers.keeper.peers = {"member-2": left, "member-3": "2003 refused"}
        assert answers.why_not("/healthy", "") == ""
    saw(answers, offline("member-1", has("1-5")))
    assert answers.why_not("/healthy", "") == "the member is OFFLINE"


def test_of_a_group_that_was_stopped_each_is_healthy_before_those_that_are_deployed_after_it(answers: Answers) -> None:
    member, stopped = cast("FakeMember", answers.watch.member), has("1-5")
    saw(answers, offline("member-1", stopped))
    member.unregistered.update(["member-2", "member-3"])
    assert answers.why_not("/healthy", "") == "the member is OFFLINE"
    answers.keeper.peers = dict.fromkeys(["member-2", "member-3"], "is registered nowhere")
    assert answers.why_not("/healthy", "") == ""
    member.unregistered.remove("member-2")
    assert answers.why_not("/healthy", "") == "the member is OFFLINE"
    joins = replace(offline("member-2", stopped), state="RECOVERING")
    for said, healthy in ((offline("member-2", stopped), True), (joins, False), (online("member-2"), False)):
        answers.keeper.peers = {"member-2": said, "member-3": "is registered nowhere"}
        assert (answers.why_not("/healthy", "") == "") is healthy
    member.unregistered.clear()
    answers.keeper.peers = {name: offline(name, stopped) for name in ("member-2", "member-3")}
    assert answers.why_not("/healthy", "") == "the member is OFFLINE"


def test_a_server_that_is_about_to_stop_gets_no_session(answers: Answers) -> None:
    saw(answers, online("member-1"))
    answers.leaving.touch()
    assert {answers.why_not(path, "") for path in ("/primary", "/replica")} == {"the server is about to stop"}


class Rows:
    """A cursor whose questions have these answers."""

    def __init__(self, *rows: Any) -> None:
        self.rows = list(rows)

    def execute(self, _statement: str, _values: object = None) -> None:
        """Takes the next one."""

    def fetchall(self) -> Any:
        return [(self.rows.pop(0),)]


@pytest.mark.parametrize(
    ("hangs_s", "logged", "primary", "why", "ended"),
    [
        (0, 1, True, "", False),
        (4, 1, True, "the disk takes no writes: commits wait for 4 s", False),
        (10, 1, True, "the disk takes no writes: commits wait for 10 s", True),
        (60, 0, True, "", False),
        (60, 1, False, "", False),
    ],
)
def test_a_primary_is_ended_whose_commits_hang_on_its_disk(
    answers: Answers, tmp_path: Path, hangs_s: int, logged: int, primary: bool, why: str, ended: bool
) -> None:
    answers.watch.disk.look(cast("Cursor", Rows(hangs_s, logged, 7)), is_primary=primary)
    saw(answers, online("member-1"))
    assert answers.why_not("/primary", "") == why
    assert (tmp_path / "kill").exists() == ended


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    return Disk(tmp_path, tmp_path / "kill", lambda _: None)


@pytest.fixture
def stopwatch(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Has the disk go by the clock."""

    class Stopwatch:
        def __init__(self) -> None:
            self.began = clock.now

        @property
        def seconds(self) -> float:
            return clock.now - self.began

    monkeypatch.setattr("nomad_stateful.agent.membership.disk.Stopwatch", Stopwatch)


@pytest.fixture
def look(disk: Disk, clock: Clock, stopwatch: None) -> Callable[..., str]:
    """A look at a primary 15 s later: for how long commits wait, and how many writes have ended."""

    def looked(hangs_s: int, written: int, *, group_answers: bool = True) -> str:
        clock.now += 15
        rows = Rows(hangs_s, 0, written) if hangs_s else Rows(0)
        disk.look(cast("Cursor", rows), is_primary=True, group_answers=group_answers)
        return disk.failure

    return looked


def test_a_primary_is_ended_whose_disk_ends_no_write_for_a_while(
    look: Callable[..., str], disk: Disk, tmp_path: Path
) -> None:
    # A large transaction, and one that waits for the next commit.
    assert [look(15, 100), look(30, 200), look(0, 0), look(15, 200), look(30, 201)] == [""] * 5
    assert look(45, 201) == ""
    # Of a group that agrees on nothing they wait as well.
    assert look(60, 201, group_answers=False) == ""
    assert disk.may_stall
    assert not (tmp_path / "kill").exists()
    assert look(75, 201) == "the disk takes no writes: commits wait for 75 s"
    assert (tmp_path / "kill").exists()


def test_a_stalled_disk_that_keeps_the_group_from_answering_is_waited_for_no_longer_than_a_minute(
    look: Callable[..., str], tmp_path: Path
) -> None:
    assert [look(15 * times, 200, group_answers=False) for times in range(1, 5)] == [""] * 4
    assert not (tmp_path / "kill").exists()
    assert look(75, 200, group_answers=False) == "the disk takes no writes: commits wait for 75 s"
    assert (tmp_path / "kill").exists()


def test_the_group_is_asked_whether_commits_wait_for_it_or_for_the_disk(answers: Answers, clock: Clock) -> None:
    saw(answers, online("member-1"))
    assert not answers.watch._asks_group
    answers.watch.disk.may_stall = True
    saw(answers, online("member-1"))
    hears(answers)
    assert answers.watch._heard == clock.now


def test_a_disk_may_stall_only_while_commits_wait_on_a_primary(look: Callable[..., str], disk: Disk) -> None:
    def stalls() -> bool:
        for _ in range(2):
            look(15, 100, group_answers=False)
        return disk.may_stall

    assert stalls()
    look(0, 0)
    assert not disk.may_stall
    assert stalls()
    disk.look(cast("Cursor", Rows()), is_primary=False)
    assert not disk.may_stall


def test_what_commits_waited_for_before_the_majority_was_lost_ends_no_primary_that_has_one_again(
    look: Callable[..., str], disk: Disk, clock: Clock, tmp_path: Path
) -> None:
    assert look(15, 200, group_answers=False) == ""
    clock.now += 90
    disk.look(cast("Cursor", Rows()), is_primary=False)
    assert [look(120, 200, group_answers=False), look(135, 200, group_answers=False)] == [""] * 2
    assert not (tmp_path / "kill").exists()


class Hanging:
    """A cursor of a primary that sees all members, and whose only commit hangs."""

    def execute(self, statement: str, _values: object = None) -> None:
        self.statement = statement

    def fetchone(self) -> Any:
        return ("member-1", group().group_id, "ONLINE", "PRIMARY", 0, 0, 3, 3, 3, ",".join(group().members), "", "")

    def fetchall(self) -> Any:
        if "applying_transaction" in self.statement:
            return [(0, 0)]
        return [] if "member_role" in self.statement else [(0 if "error_log" in self.statement else 400,)]


@pytest.mark.usefixtures("stopwatch")
def test_a_group_that_has_just_come_together_is_given_minutes_to_agree_on_something(
    answers: Answers, clock: Clock, tmp_path: Path
) -> None:
    def is_ended_after(seconds: int) -> bool:
        for _ in range(seconds // 3):
            clock.now += 3
            answers.watch.note(answers.watch._look(cast("Cursor", Hanging())))
        return (tmp_path / "kill").exists()

    for _ in range(2):
        saw(answers, online("member-1", reachable=1))
    assert not is_ended_after(300)
    assert is_ended_after(6)
    hears(answers, ordered=False)


def test_a_secondary_says_that_its_disk_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = Disk(tmp_path, tmp_path / "kill", lambda _: None)
    monkeypatch.setattr("os.statvfs", lambda _: SimpleNamespace(f_bavail=1, f_frsize=4096))
    disk.look(cast("Cursor", Rows()), is_primary=False)
    assert disk.failure == "the disk is full"
    assert not (tmp_path / "kill").exists()


def test_a_member_that_executes_nothing_of_what_it_has_is_behind(answers: Answers, clock: Clock) -> None:
    def look(queued: int, executed: str = "1-9") -> str | None:
        clock.now += 1
        answer = replace(online("member-1", "SECONDARY"), transactions=has(executed))
        answers.watch.note(Seen(clock.now, answer, 0.0, [], queued))
        return answers.why_not("/replica", "lag=2")

    assert [look(5), look(5, "1-10"), look(0, "1-10"), look(0, "1-10")] == [""] * 4
    assert [look(7, "1-10"), look(8, "1-10"), look(9, "1-10")] == ["", "", "it is 3.0 s behind"]
    # Its group has answered: there was nothing to execute, whatever is counted.
    hears(answers)
    assert look(9, "1-10") == ""


@pytest.fixture
def port(answers: Answers) -> Iterator[int]:
    server = serve(answers, "127.0.0.1", 0)
    yield server.server_address[1]
    server.shutdown()
    server.server_close()


def asked(port: int, method: str, path: str) -> tuple[int, str]:
    connection = HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request(method, path)
    found = connection.getresponse()
    text = found.read().decode()
    connection.close()
    return found.status, text


def test_it_is_answered_by_http(answers: Answers, port: int) -> None:
    saw(answers, online("member-1"), lag_s=0.5)
    assert asked(port, "GET", "/primary") == (200, "yes\n")
    assert asked(port, "HEAD", "/primary") == (200, "")
    assert asked(port, "GET", "/replica?lag=0.1") == (503, "it is 0.5 s behind\n")
    assert asked(port, "GET", "/secrets")[0] == 404
    assert asked(port, "POST", "/primary")[0] == 501
    status, text = asked(port, "GET", "/")
    assert (status, json.loads(text)) == (
        200,
        {
            "name": "member-1",
            "state": "ONLINE",
            "began": True,
            "why": "",
            "role": "PRIMARY",
            "read_only": False,
            "majority": True,
            "members": [{"host": "member-1", "state": "ONLINE", "role": "PRIMARY"}],
            "lag_s": 0.5,
            "executed": f"{answers.watch.member.group.group_id}:1-9",
            "received": "",
            "unapplied": "",
            "disk": "",
        },
    )


def test_who_is_out_of_the_group_says_what_it_waits_for(answers: Answers) -> None:
    """In the keeper's words; what it said of a server that was ONLINE until now is no reason."""
    servers = Servers({"member-1": offline("member-1"), "member-2": offline("member-2")})
    member = FakeMember(servers, "member-1")
    answers = Answers(answers.watch, keeper(member, []), answers.leaving)
    saw(answers, offline("member-1"))
    assert answers.everything()["why"] == ""
    answers.keeper.round()
    waits = "nobody is in the group, and it begins only when all have answered: member-3 (2003 refused)"
    assert answers.everything()["why"] == waits
    member.refusal = "3092 the server is not configured"
    servers.answers["member-3"] = online("member-3")
    answers.keeper.round()
    assert answers.everything()["why"] == "could not join, and tries again: 3092 the server is not configured"
    servers.answers["member-1"] = replace(offline("member-1"), state="ERROR")
    saw(answers, servers.answers["member-1"])
    answers.keeper.round()
    assert answers.everything()["why"] == "leaves the group, to join again"
    servers.answers["member-1"] = online("member-1", "SECONDARY")
    answers.keeper.round()
    assert answers.everything()["why"] == ""
    saw(answers, online("member-1", "SECONDARY"))
    assert answers.everything()["why"] == ""
    del servers.answers["member-1"]
    answers.keeper.round()
    saw(answers, offline("member-1"))
    assert answers.everything()["why"] == "waits for its server"
