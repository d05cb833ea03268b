"""A group that becomes a single server again: the candidate has every row, alone, before anything else changes."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from nomad_stateful.errors import ProviderError
from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.group_members import MemberState
from nomad_stateful.nomad.group_record import Decision, GroupRecord
from nomad_stateful.provider.resources import replication_group
from nomad_stateful.provider.resources.replication_group import ReplicationGroup
from nomad_stateful.waiting import Context
from tests.fake_nomad import FakeNomad

ID = "default/db"
SOURCE = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
OTHERS = ["db-2", "db-3"]
BEGUN = Decision("db-1", "a1a1a1a1-0000-4000-8000-00000000000a")
INPUTS = {
    "jobId": "db",
    "namespace": "default",
    "candidate": "db-1",
    "dissolved": True,
    "others": OTHERS,
    "memberGroup": "mysql",
    "timeoutS": 5,
}
STATE = INPUTS | {"dissolved": False, "first": "db-1", "groupId": BEGUN.group_id}
GONE = {"first": "", "groupId": ""}


class Members:
    """Members that leave the group once their jobs are stopped; the candidate is the primary of its own then."""

    def __init__(self, nomad: FakeNomad) -> None:
        self.running = ["db-1", "db-2", "db-3"]
        self.stops = True
        self.why = ""
        self.unapplied = ["group:5-7", "group:7"]
        nomad.put("job/db-1", {"TaskGroups": []})
        for name in OTHERS:
            nomad.put(f"job/{name}", {"TaskGroups": []})
            nomad.put(f"job/{name}/allocations", [{"NodeName": f"client-of-{name}", "ClientStatus": "running"}])
            nomad.after[f"DELETE job/{name}"] = partial(self._stopped, nomad, name)

    def _stopped(self, nomad: FakeNomad, name: str, _asked: object = None) -> None:
        assert name != "db-3" or "db-2" not in self.running, "two members were stopped at once"
        if self.stops:
            nomad.put(f"job/{name}/allocations", [{"NodeName": f"client-of-{name}", "ClientStatus": "complete"}])
            self.running.remove(name)

    def ask(self, _api: NomadApi, namespace: str, job: str, group: str) -> MemberState:
        """Answers as the candidate's agent, the only one that is asked while all goes well."""
        assert (namespace, group) == ("default", "mysql")
        if job != "db-1":
            return replace(MUTE, job=job)
        alone = self.running == [job]
        unapplied = self.unapplied.pop(0) if alone and self.unapplied else ""
        role = "PRIMARY" if alone else "SECONDARY"
        return MemberState(job, state="ONLINE", role=role, view=tuple(self.running), unapplied=unapplied, why=self.why)


@pytest.fixture
def members(nomad: FakeNomad, monkeypatch: pytest.MonkeyPatch) -> Members:
    monkeypatch.setattr(replication_group, "_LOOK_EVERY_S", 0.01)
    GroupRecord(nomad.api, "default", "db").decide(BEGUN)
    return Members(nomad)


def dissolve(nomad: FakeNomad, members: Members, limit_s: float = 5) -> dict[str, Any]:
    group = ReplicationGroup(lambda: nomad.api, members.ask)
    return group.update(Context(timeout_s=limit_s), ID, STATE, STATE, INPUTS)


def test_the_others_are_stopped_one_by_one_and_the_candidate_has_executed_everything(
    nomad: FakeNomad, members: Members
) -> None:
    assert dissolve(nomad, members) == INPUTS | GONE
    assert members.running == ["db-1"]
    assert members.unapplied == []
    assert [one for one in nomad.writes if one.startswith("DELETE job")] == ["DELETE job/db-2", "DELETE job/db-3"]
    assert GroupRecord(nomad.api, "default", "db").read() is None


def test_nothing_is_stopped_while_the_candidate_is_not_in_the_group(nomad: FakeNomad, members: Members) -> None:
    members.why = "it sees no majority of the members"
    with pytest.raises(ProviderError, match=r"db-1 is ONLINE \(it sees no majority"):
        dissolve(nomad, members, 0.05)
    assert members.running == ["db-1", "db-2", "db-3"]
    assert GroupRecord(nomad.api, "default", "db").read() == BEGUN


def test_members_that_nomad_does_not_hear_may_be_a_group_though_its_variable_is_lost(
    nomad: FakeNomad, members: Members
) -> None:
    GroupRecord(nomad.api, "default", "db").forget(BEGUN)
    for name in OTHERS:
        nomad.put(f"job/{name}/allocations", [{"NodeName": f"client-of-{name}", "ClientStatus": "unknown"}])
    members.why = "it sees no majority of the members"
    with pytest.raises(ProviderError, match=r"db-1 is ONLINE \(it sees no majority"):
        dissolve(nomad, members, 0.05)


def test_a_member_of_a_lost_client_which_was_stopped_is_not_waited_for(nomad: FakeNomad, members: Members) -> None:
    """Nomad says nothing more of its allocation: the candidate says that it is alone."""

    def stopped(_asked: object = None) -> None:
        nomad.put("job/db-2/allocations", [{"NodeName": "lost", "ClientStatus": "unknown", "DesiredStatus": "stop"}])
        members.running.remove("db-2")

    nomad.after["DELETE job/db-2"] = stopped
    assert dissolve(nomad, members) == INPUTS | GONE


def test_a_member_that_does_not_end_keeps_the_next_one(nomad: FakeNomad, members: Members) -> None:
    members.stops = False
    with pytest.raises(ProviderError, match="db-2 ends on client-of-db-2"):
        dissolve(nomad, members, 0.05)
    assert "DELETE job/db-3" not in nomad.writes
    members.stops = True
    members._stopped(nomad, "db-2")
    assert dissolve(nomad, members) == INPUTS | GONE


UNBORN = MemberState("", state="OFFLINE", began=False, why="waits")
SERVED = replace(UNBORN, executed=f"{SOURCE}:1-9")
MUTE = MemberState("", why="its agent does not answer")


def undo(nomad: FakeNomad, members: Members, limit_s: float = 0.05, **said: Any) -> dict[str, Any]:
    """Dissolves a group whose members say this; those that are not named say nothing."""

    def ask(_api: NomadApi, _namespace: str, job: str, _group: str) -> MemberState:
        found = said.get(job.replace("-", "_"), MUTE)
        return replace(found if job == "db-1" or job in members.running else MUTE, job=job)

    group = ReplicationGroup(lambda: nomad.api, ask)
    return group.update(Context(timeout_s=limit_s), ID, STATE, STATE, INPUTS)


@pytest.mark.parametrize(
    "said",
    [
        {"db_1": SERVED, "db_2": UNBORN, "db_3": UNBORN},
        {"db_1": SERVED, "db_2": replace(UNBORN, executed=f"{SOURCE}:1-8")},
        {"db_1": SERVED},
        {"db_1": UNBORN, "db_2": UNBORN, "db_3": UNBORN},
    ],
)
def test_of_a_group_that_never_began_the_others_are_stopped(
    nomad: FakeNomad, members: Members, said: dict[str, Any]
) -> None:
    assert undo(nomad, members, 5, **said) == INPUTS | GONE
    assert members.running == ["db-1"]
    assert GroupRecord(nomad.api, "default", "db").read() is None


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (
            {"db_1": SERVED, "db_2": replace(UNBORN, began=True)},
            "db-2 is OFFLINE .*: that one may have been in the group",
        ),
        (
            {"db_1": SERVED, "db_2": replace(UNBORN, state="ERROR")},
            "db-2 is ERROR .*: that one may have been in the group",
        ),
        (
            {"db_1": SERVED, "db_3": replace(UNBORN, began=None)},
            "db-3 is OFFLINE .*: that one may have been in the group",
        ),
        ({"db_1": SERVED, "db_2": replace(SERVED, executed=f"{SOURCE}:8-10")}, f"that db-2 has: {SOURCE}:10"),
        ({"db_1": UNBORN, "db_2": UNBORN}, "it has no transaction, and db-3 cannot be asked"),
        ({"db_1": replace(SERVED, began=True)}, "alone: db-1 is OFFLINE"),
        ({"db_1": replace(SERVED, began=None)}, "alone: db-1 is OFFLINE"),
        ({}, "alone: db-1 cannot be asked"),
    ],
)
def test_a_group_that_may_have_begun_is_left_as_it_is(
    nomad: FakeNomad, members: Members, said: dict[str, Any], why: str
) -> None:
    with pytest.raises(ProviderError, match=why) as failed:
        undo(nomad, members, **said)
    assert members.running == ["db-1", "db-2", "db-3"]
    assert "no member says that it takes writes" in str(failed.value)
    assert "members that run serve" not in str(failed.value)
    assert GroupRecord(nomad.api, "default", "db").read() == BEGUN


def test_one_that_begins_meanwhile_is_waited_for(nomad: FakeNomad, members: Members) -> None:
    """Between the look and the end of the others: it is a group as any other then."""
    calls: list[str] = []

    def ask(api: NomadApi, namespace: str, job: str, group: str) -> MemberState:
        calls.append(job)
        if len(calls) <= 3:
            return replace(SERVED if job == "db-1" else UNBORN, job=job)
        return members.ask(api, namespace, job, group)

    ReplicationGroup(lambda: nomad.api, ask).update(Context(timeout_s=5), ID, STATE, STATE, INPUTS)
    assert members.unapplied == []


def test_what_ended_halfway_goes_on_without_the_answer_of_those_it_stopped(nomad: FakeNomad, members: Members) -> None:
    nomad.change("job/db-2", Stop=True)
    members._stopped(nomad, "db-2")
    assert undo(nomad, members, 5, db_1=UNBORN, db_3=UNBORN) == INPUTS | GONE


def test_a_first_member_that_was_not_made_yet_never_began(nomad: FakeNomad, members: Members) -> None:
    """The single server runs until then."""
    for name in ("db-1", "db-3"):
        nomad.put(f"job/{name}", None)
        nomad.put(f"job/{name}/allocations", [])
    members.running.remove("db-3")
    assert undo(nomad, members, 5, db_2=UNBORN) == INPUTS | GONE
    assert [one for one in nomad.writes if one.startswith("DELETE job")] == ["DELETE job/db-2"]


def test_nor_did_one_that_has_no_place_yet(nomad: FakeNomad, members: Members) -> None:
    nomad.put("job/db-3/allocations", [])
    nomad.after.pop("DELETE job/db-3")
    members.running.remove("db-3")
    assert undo(nomad, members, 5, db_1=UNBORN, db_2=UNBORN) == INPUTS | GONE


def test_it_says_who_takes_writes_and_how_members_that_were_stopped_start_again(
    nomad: FakeNomad, members: Members
) -> None:
    members.stops = False
    with pytest.raises(ProviderError, match="no member says that it takes writes") as failed:
        dissolve(nomad, members, 0.05)
    assert "set group again and run `pulumi up --refresh`" in str(failed.value)
    primary = replace(SERVED, state="ONLINE", role="PRIMARY", began=True, view=("db-1", "db-2"), why="")
    with pytest.raises(ProviderError, match="No row is lost; db-1 takes writes"):
        undo(nomad, members, db_1=primary)


def test_where_no_group_was_begun_nothing_is_asked(nomad: FakeNomad) -> None:
    for name in OTHERS:
        nomad.put(f"job/{name}/allocations", [])

    def ask(*_: object) -> MemberState:
        raise AssertionError

    made_id, outputs = ReplicationGroup(lambda: nomad.api, ask).create(Context(), INPUTS)
    assert (made_id, outputs) == (ID, INPUTS | GONE)


def test_a_group_after_one_that_was_dissolved_is_another_group(nomad: FakeNomad, members: Members) -> None:
    gone = dissolve(nomad, members)
    group = ReplicationGroup(lambda: nomad.api, members.ask)
    again = INPUTS | {"dissolved": False}
    assert not group.diff(Context(), ID, gone, INPUTS, INPUTS).detailed
    made = group.update(Context(), ID, gone, INPUTS, again)
    assert made["first"] == "db-1"
    assert made["groupId"] not in ("", BEGUN.group_id)


def test_one_whose_first_member_still_runs_in_it_goes_on_under_its_id(nomad: FakeNomad, members: Members) -> None:
    """As where the engine ended between the end of the group and that of the member's job."""
    gone = dissolve(nomad, members)
    words = ["group", f"--group={BEGUN.group_id}", "--first=db-1", "--members=db-1:13306,db-2:13306,db-3:13306"]
    job = {"TaskGroups": [{"Name": "mysql", "Tasks": [{"Name": "group", "Config": {"args": words}}]}]}
    nomad.put("job/db-1", job)
    group = ReplicationGroup(lambda: nomad.api, members.ask)
    made = group.update(Context(), ID, gone, INPUTS, INPUTS | {"dissolved": False})
    assert (made["first"], made["groupId"]) == ("db-1", BEGUN.group_id)
    assert GroupRecord(nomad.api, "default", "db").read() == BEGUN
    GroupRecord(nomad.api, "default", "db").forget(BEGUN)
    nomad.put("job/db-1", job | {"Stop": True})
    made = group.update(Context(), ID, gone, INPUTS, INPUTS | {"dissolved": False})
    assert made["groupId"] != BEGUN.group_id


def test_another_member_begins_the_same_group_where_the_variable_says_so(nomad: FakeNomad, members: Members) -> None:
    group, inputs = ReplicationGroup(lambda: nomad.api, members.ask), INPUTS | {"dissolved": False}
    record = GroupRecord(nomad.api, "default", "db")
    assert not group.diff(Context(), ID, STATE, inputs, inputs).detailed
    record.forget(BEGUN)
    chosen = replace(BEGUN, first="db-2")
    record.decide(chosen)
    assert group.diff(Context(), ID, STATE, inputs, inputs).detailed
    made = group.update(Context(), ID, STATE, inputs, inputs)
    assert (made["first"], made["groupId"]) == ("db-2", BEGUN.group_id)
    assert not group.diff(Context(), ID, made, inputs, inputs).detailed
    record.forget(chosen)
    record.decide(replace(BEGUN, group_id=SOURCE))
    with pytest.raises(ProviderError, match="one of them is of another group"):
        group.update(Context(), ID, made, inputs, inputs)
    group.delete(Context(), ID, made)
    assert record.read() is not None
    record.forget(replace(BEGUN, group_id=SOURCE))
    record.decide(BEGUN)
    group.delete(Context(), ID, made)
    assert record.read() is None
