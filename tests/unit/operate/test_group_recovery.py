"""What `nomad-stateful recover` says of a replication group in which nobody can write. It runs none of it."""

from __future__ import annotations

import io
from contextlib import contextmanager, redirect_stdout
from types import SimpleNamespace
from typing import Any

import pytest

from nomad_stateful.nomad.group_record import Decision, GroupRecord
from nomad_stateful.operate import recover
from nomad_stateful.operate.recover import NotRecoveredError, Permission
from tests.unit.operate.group import MEMBERS, Agents, agents

__all__ = ["agents"]

SOURCE = "a1a1a1a1-0000-4000-8000-00000000000a"
ALL = Permission(safe=True, fence=True)
KEPT = "nomad-stateful snapshot 'mysql[2]'"
THIRD = (
    "nomad job stop -namespace default mysql-server-3 && "
    "aws ec2 wait volume-available --volume-ids vol-2 && aws ec2 delete-volume --volume-id vol-2 && "
    "pulumi up --refresh"
)


def stop(agents: Agents, **executed: str) -> None:
    """Has members be OFFLINE with so many transactions each, and the agents of all others silent."""
    for one in MEMBERS:
        job = one["job"]
        if (numbers := executed.get(job.replace("-", "_"))) is None:
            agents.nomad.put(f"job/{job}/allocations", [])
        else:
            state = {"state": "OFFLINE", "role": "", "majority": True, "why": "it waits"}
            agents.say[job] |= state | {"executed": f"{SOURCE}:{numbers}", "received": ""}


@pytest.fixture(autouse=True)
def no_volumes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stack has none to recover."""
    monkeypatch.setattr(recover, "stack_volumes", lambda *_: [])


def recovered(agents: Agents, name: str = "") -> tuple[dict[str, Any], list[str], str]:
    """Returns what scripts get, what people read, and the error."""
    told: list[Any] = []
    said = io.StringIO()
    error = ""

    @contextmanager
    def within(*_: Any) -> Any:
        yield agents.nomad.api

    frame: Any = SimpleNamespace(dry_run=False, as_json=False, cluster=within, turn=within, tell=told.append)
    try:
        with redirect_stdout(said):
            recover.recover(frame, name, ALL)
    except NotRecoveredError as raised:
        error = str(raised)
    assert agents.nomad.writes == []
    return told[0], said.getvalue().splitlines(), error


def steps(found: dict[str, Any]) -> list[tuple[str, str, str]]:
    [group] = found["groups"]
    assert group["name"] == "mysql-server"
    return [(one["kind"], one["command"], one["why"]) for one in group["steps"]]


def test_of_a_group_that_takes_writes_nothing_is_said(agents: Agents) -> None:
    agents.nomad.put("job/mysql-server-3/allocations", [])
    assert recovered(agents) == ({"ok": True, "dryRun": False, "volumes": [], "groups": []}, [], "")


def test_where_all_answer_their_agents_begin_by_themselves(agents: Agents) -> None:
    stop(agents, mysql_server_1="1-9", mysql_server_2="1-10", mysql_server_3="1-8")
    found, _, error = recovered(agents)
    [(kind, command, why)] = steps(found)
    assert (kind, command) == ("by hand:", "nomad-stateful status --watch")
    assert "mysql-server-2 has everything" in why
    assert error.startswith("mysql-server: see above")


def test_of_a_member_that_does_not_answer_it_says_how_it_comes_back_or_is_given_up(agents: Agents) -> None:
    stop(agents, mysql_server_1="1-8", mysql_server_2="1-8:10")
    found, said, _ = recovered(agents, "mysql[2]")
    [back, kept, up] = steps(found)
    assert back[:2] == ("by hand:", "nomad-stateful explain mysql-server-3")
    assert (kept[1], kept[2].startswith("where the volume can still be read")) == (KEPT, True)
    assert up[:2] == ("by hand:", THIRD)
    assert "may be rows that were acknowledged" in up[2]
    assert "once all have answered, mysql-server-2 begins with what it has. Where EC2 has the volume no more" in up[2]
    problem = found["groups"][0]["problem"]
    assert "mysql-server-1 is OFFLINE (it waits)" in problem
    assert "mysql-server-3 cannot be asked: no allocation of it runs" in problem
    assert f"mysql-server-1 has 8 transactions, and lacks 1: {SOURCE}:10; mysql-server-2 has 9 transactions" in problem
    assert said[0].startswith("group mysql-server: nobody can write: ")


@pytest.mark.parametrize("answering", [0, 1])
def test_members_that_may_run_are_not_given_up(agents: Agents, answering: int) -> None:
    """As where their agents cannot be reached from here, and two of them write."""
    stop(agents, **{"mysql_server_1": "1-8"} if answering else {})
    for number, one in enumerate(MEMBERS[answering:], answering + 1):
        agents.place(one["job"], number, "mysql", agent="http://127.0.0.1:1")
    found, said, _ = recovered(agents)
    assert said[0].startswith("group mysql-server: nobody that answers can write: ")
    assert [one[1].split()[:2] for one in steps(found)] == [["nomad-stateful", "explain"]] * (3 - answering)
    assert all("It may run, and write with others" in one[2] for one in steps(found))


def test_of_a_group_that_no_agent_of_can_be_reached_and_a_router_has_the_primary_nothing_is_said(
    agents: Agents,
) -> None:
    for number, one in enumerate(MEMBERS, 1):
        agents.place(one["job"], number, "mysql", agent="http://127.0.0.1:1")
    passes = {"c": {"Check": "router", "Status": "success", "Output": "nomad: http ok"}}
    agents.nomad.put("client/allocation/mysql-server-router-a/checks", passes)
    assert recovered(agents)[0]["ok"]


def test_one_alone_without_a_majority_has_both_others_brought_back_or_given_up(agents: Agents) -> None:
    stop(agents, mysql_server_1="1-8")
    agents.say["mysql-server-1"] |= {"state": "ONLINE", "role": "PRIMARY", "majority": False}
    found, _, _ = recovered(agents)
    assert [one[1].split()[-1] for one in steps(found)] == [
        "mysql-server-2",
        "mysql-server-3",
        "'mysql[1]'",
        "--refresh",
        "'mysql[2]'",
        "--refresh",
    ]


def test_members_with_transactions_of_their_own_are_for_the_operator_to_choose_from(agents: Agents) -> None:
    stop(agents, mysql_server_1="1-8", mysql_server_2="1-7", mysql_server_3="1-7:9-10")
    found, _, _ = recovered(agents)
    [_, first, kept, third] = steps(found)
    assert kept[1] == KEPT
    assert f"gives up 1 transactions ({SOURCE}:8)" in first[2]
    assert (third[1], f"gives up 2 transactions ({SOURCE}:9-10)" in third[2]) == (THIRD, True)


def test_where_nobody_answers_nobody_is_said_to_begin(agents: Agents) -> None:
    stop(agents)
    found, _, _ = recovered(agents)
    assert not any("begins with" in why for _, _, why in steps(found))
    assert len(steps(found)) == 9


def test_it_is_not_said_of_a_volume_that_is_no_members(agents: Agents) -> None:
    stop(agents)
    assert recovered(agents, "dumps")[0]["groups"] == []


@pytest.mark.parametrize(
    ("said", "problem"),
    [({"read_only": True}, "it is read-only"), ({"read_only": False, "disk": "its disk is full"}, "its disk is full")],
)
def test_of_a_primary_that_takes_no_writes_it_says_where_to_look(
    agents: Agents, said: dict[str, Any], problem: str
) -> None:
    agents.say["mysql-server-2"] |= said
    found, _, error = recovered(agents)
    assert f"mysql-server-2 is ONLINE ({problem})" in found["groups"][0]["problem"]
    assert [one[1] for one in steps(found)] == [
        "nomad alloc logs -stderr -task group mysql-se",
        "nomad alloc restart mysql-se",
    ]
    assert error.startswith("mysql-server: see above")


def never_begun(agents: Agents, **executed: str) -> None:
    """Has members of a group that never was be OFFLINE, the first one to begin it."""
    stop(agents, **executed)
    for job in executed:
        agents.say[job.replace("_", "-")] |= {"began": False}
    GroupRecord(agents.nomad.api, "default", "mysql-server").decide(Decision("mysql-server-1", SOURCE))
    agents.nomad.requests.clear()


def test_a_group_that_never_was_is_begun_by_the_first_or_by_whom_the_operator_names(agents: Agents) -> None:
    never_begun(agents, mysql_server_1="1-8", mysql_server_2="1-10", mysql_server_3="1")
    found, _, _ = recovered(agents)
    [kept, given_up, put] = steps(found)
    assert kept[1] == "nomad-stateful snapshot 'mysql[1]'"
    assert given_up[1].startswith("nomad job stop -namespace default mysql-server-2 && ")
    assert f"it could not join where mysql-server-1 begins: this gives up 2 transactions ({SOURCE}:9-10)" in given_up[2]
    path = "nomad/jobs/nomad-stateful/groups/mysql-server"
    assert put[1] == (
        f"nomad var put -force -namespace default {path} first=mysql-server-2 group={SOURCE} && pulumi up"
    )
    assert "wait for mysql-server-1 to begin it" in put[2]


def test_it_begins_by_itself_where_the_first_lacks_nothing(agents: Agents) -> None:
    never_begun(agents, mysql_server_1="1-8", mysql_server_2="1-8", mysql_server_3="1-8")
    agents.say["mysql-server-2"]["received"] = ""
    found, _, _ = recovered(agents)
    [(_, command, why)] = steps(found)
    assert (command, "mysql-server-1 has everything" in why) == ("nomad-stateful status --watch", True)


def test_of_agents_that_do_not_say_whether_it_began_the_one_with_everything_is_named(agents: Agents) -> None:
    never_begun(agents, mysql_server_1="1-8", mysql_server_2="1-10", mysql_server_3="1")
    del agents.say["mysql-server-1"]["began"]
    [(_, _, why)] = steps(recovered(agents)[0])
    assert "mysql-server-2 has everything" in why


def test_where_each_lacks_something_nobody_is_named(agents: Agents) -> None:
    never_begun(agents, mysql_server_1="1-8", mysql_server_2="1-7:9", mysql_server_3="1-7")
    assert not any("nomad var put" in command for _, command, _ in steps(recovered(agents)[0]))
