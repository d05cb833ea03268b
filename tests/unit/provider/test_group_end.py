"""A group that becomes a single server again: the candidate has every row, alone, before anything else changes."""

from __future__ import annotations

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
        """Answers as the candidate's agent."""
        assert (namespace, job, group) == ("default", "db-1", "mysql")
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


def test_a_member_that_does_not_end_keeps_the_next_one(nomad: FakeNomad, members: Members) -> None:
    members.stops = False
    with pytest.raises(ProviderError, match="db-2 ends on client-of-db-2"):
        dissolve(nomad, members, 0.05)
    assert "DELETE job/db-3" not in nomad.writes
    members.stops = True
    members._stopped(nomad, "db-2")
    assert dissolve(nomad, members) == INPUTS | GONE


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
