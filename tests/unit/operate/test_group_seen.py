"""What status, doctor, explain and metrics say of a stack whose database is a replication group."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from nomad_stateful.ebs.ec2_client import AwsPlace
from nomad_stateful.nomad.group_members import MemberState
from nomad_stateful.nomad.running_job import Endpoint
from nomad_stateful.operate import dumps, group, stack, status
from nomad_stateful.operate.doctor.checks import replication
from nomad_stateful.operate.doctor.finding import Finding
from nomad_stateful.operate.doctor.table import CHECKS, concerning
from nomad_stateful.operate.explain import command as explain
from nomad_stateful.operate.metrics import reading
from nomad_stateful.operate.metrics.gauges import Gauges
from nomad_stateful.operate.overview import facts, screen
from nomad_stateful.terminal import rendered
from tests.fake_nomad import FakeNomad
from tests.unit.operate.doctor.world import World
from tests.unit.operate.group import MEMBERS, OUTPUTS, Agents, agents, server

__all__ = ["agents"]

AT = Endpoint("0123456789", "n", "client-1", "h", 1)
SECONDARIES = [MemberState(one["job"], AT, "ONLINE", "SECONDARY") for one in MEMBERS]


def test_status_shows_the_members(agents: Agents, monkeypatch: pytest.MonkeyPatch) -> None:
    agents.say["mysql-server-3"] |= {"state": "ERROR", "why": "it was expelled", "lag_s": 2.5}
    agents.nomad.put("job/mysql-server-1", None)
    agents.nomad.put("job/mysql-server-1/allocations", [])
    monkeypatch.setattr(stack, "aws_place", lambda: AwsPlace("us-west-2", "123456789012"))
    monkeypatch.setattr(facts, "stack_volumes", lambda _nomad: [])
    monkeypatch.setattr(dumps, "failing", lambda _nomad: [])
    monkeypatch.setattr(dumps, "newest", lambda _nomad: ("", ""))
    found = facts.read(agents.nomad.api)
    told = rendered(screen.lines(found, datetime.now(UTC)), colour=False)
    rows = [line.split() for line in told.splitlines() if line.startswith("mysql-server-")]
    assert ["mysql-server-1", "us-west-2a", "-", "cannot", "be", "asked", "-", "-"] in rows
    assert ["mysql-server-2", "us-west-2b", "client-2", "ONLINE", "PRIMARY", "0.0", "s"] in rows
    assert ["mysql-server-3", "us-west-2c", "client-3", "ERROR", "SECONDARY", "2.5", "s"] in rows
    assert "mysql-server-1: Nomad has no such job" in told
    assert "mysql-server-3: mysql-server-3 is ERROR (it was expelled): `nomad-stateful doctor`" in told
    assert "mysql-server-router: of 3 members 1 are ONLINE" in told
    third = status.as_object(found)["members"][2]
    assert third == {
        "job": "mysql-server-3",
        "zone": "us-west-2c",
        "client": "client-3",
        "state": "ERROR",
        "role": "SECONDARY",
        "lagSeconds": 2.5,
        "why": "it was expelled",
    }


def test_metrics_are_those_of_the_members_volumes(nomad: FakeNomad, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stack, "outputs", lambda: OUTPUTS)
    monkeypatch.setattr(stack, "config", lambda: {"nomad-stateful:volumes": [{"name": "mysql", "snapshots": [{}]}]})
    gauges = Gauges()
    reading._of_stack(gauges)
    assert gauges.samples["volume_snapshot_schedules"] == [((f"mysql[{number}]",), 1) for number in range(3)]
    assert gauges.samples["database_expected"] == [(("mysql-server",), 1)]
    assert nomad.requests == []


def measured(nomad: FakeNomad) -> tuple[dict[str, list[tuple[Any, float]]], list[str]]:
    """Returns the samples of the group, and what did not answer."""
    gauges, unsaid = Gauges(), list[str]()
    reading._group(gauges, nomad.api, server(), unsaid.append)
    return gauges.samples, unsaid


def test_metrics_say_what_each_member_is_and_where_the_routers_lead(agents: Agents) -> None:
    agents.say["mysql-server-3"] |= {"lag_s": 2.5}
    agents.nomad.put("client/allocation/mysql-server-router-a/checks", {"c": {"Status": "success"}})
    found, unsaid = measured(agents.nomad)
    jobs = [one["job"] for one in MEMBERS]
    assert unsaid == []
    assert found["group_member_info"] == [
        (("mysql-server", *[one[key] for key in ("job", "zone", "volume")]), 1) for one in MEMBERS
    ]
    assert found["group_member_online"] == [(("mysql-server", job), 1) for job in jobs]
    assert [value for _, value in found["group_member_primary"]] == [0, 1, 0]
    assert [value for _, value in found["group_member_lag_seconds"]] == [0, 0, 2.5]
    assert found["group_lag_limit_seconds"] == [(("mysql-server",), 10)]
    assert found["group_router_primary"] == [(("mysql-server", "client-1"), 1)]


def test_metrics_say_nothing_of_who_cannot_be_asked(agents: Agents) -> None:
    agents.say["mysql-server-1"] |= {"state": "", "why": "no server"}
    agents.say["mysql-server-2"] |= {"majority": False}
    agents.say["mysql-server-3"] |= {"state": "OFFLINE", "role": "", "why": "waits"}
    checks = "client/allocation/mysql-server-router-a/checks"
    agents.nomad.put(checks, {"c": {"Status": "failure", "Output": "http 503"}})
    found, unsaid = measured(agents.nomad)
    alone = {"mysql-server-2": 0, "mysql-server-3": 0}
    assert {labels[1]: value for labels, value in found["group_member_online"]} == alone
    assert {labels[1]: value for labels, value in found["group_member_primary"]} == alone
    assert "group_member_lag_seconds" not in found
    assert unsaid == ["mysql-server: mysql-server-1 cannot be asked: no server"]
    assert found["group_router_primary"] == [(("mysql-server", "client-1"), 0)]
    agents.nomad.refuse(checks, 500, "No path to node")
    found, unsaid = measured(agents.nomad)
    assert "group_router_primary" not in found
    assert "mysql-server: the router on client-1 cannot be asked: " in unsaid[1]
    agents.nomad.put(checks, {})
    assert "group_router_primary" not in measured(agents.nomad)[0]


def world(**first: str) -> World:
    """A deployed stack with a group, for what reads the state."""
    made = World()
    decided = {"jobId": "mysql-server", "namespace": "default", "first": "mysql-server-1", "groupId": "7a2e"}
    made.resources += [
        {"type": "pulumi:pulumi:Stack", "outputs": OUTPUTS},
        {"type": "nomad-csi:index:ReplicationGroup", "outputs": decided},
    ]
    items = {"first": "mysql-server-1", "group": "7a2e", **first}
    made.nomad["var/nomad/jobs/nomad-stateful/groups/mysql-server"] = {"Items": items} if items["first"] else None
    stub = {"ID": "router-a", "NodeName": "client-1", "DesiredStatus": "run", "ClientStatus": "running"}
    made.nomad["job/mysql-server-router/allocations"] = [{**stub, "CreateIndex": 7}]
    made.nomad["client/allocation/router-a/checks"] = {"c": {"Status": "success"}}
    return made


def doctored(made: World, monkeypatch: pytest.MonkeyPatch, *states: MemberState) -> list[Finding]:
    first, second, third = SECONDARIES
    found = states or (first, replace(second, role="PRIMARY"), third)
    monkeypatch.setattr(group, "states", lambda _nomad, _server: list(found))
    seen = made.facts()
    return [one for check in (replication.members, replication.decision, replication.routers) for one in check(seen)]


def test_the_doctor_finds_nothing_wrong_with_a_group_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    assert doctored(world(), monkeypatch) == []
    assert concerning(world().facts()) == list(CHECKS)


def test_the_doctor_says_what_a_member_lacks_and_where_to_look(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, third = SECONDARIES
    away = MemberState("mysql-server-3", why="no allocation of it runs")
    found = doctored(world(), monkeypatch, replace(first, state="ERROR", why="it was expelled"), second, away)
    assert [one.what for one in found] == [
        "mysql-server-1 is ERROR (it was expelled)",
        "mysql-server-3 cannot be asked: no allocation of it runs",
        "of 3 members 1 are ONLINE",
        "no member is the primary: nobody can write",
    ]
    assert found[0].cure == "nomad alloc logs -stderr -task group 01234567"
    assert found[1].cure == "nomad-stateful explain mysql-server-3"
    both = doctored(world(), monkeypatch, *(replace(one, role="PRIMARY") for one in (first, second)), third)
    assert [one.what for one in both] == ["there are 2 primaries: mysql-server-1, mysql-server-2"]
    assert "the third member does not see" in both[0].cure


def test_the_doctor_compares_the_decision_with_the_state(monkeypatch: pytest.MonkeyPatch) -> None:
    path = "nomad/jobs/nomad-stateful/groups/mysql-server"
    (gone,) = doctored(world(first=""), monkeypatch)
    assert gone.what.startswith(f"the variable {path} (namespace default) is not there, and the stack's state first=")
    (other,) = doctored(world(group="other"), monkeypatch)
    assert "says first=mysql-server-1 group=other, and the stack's state first=mysql-server-1 group=7a2e" in other.what
    assert other.cure == f"nomad var put -force -namespace default {path} first=mysql-server-1 group=7a2e"


def test_the_doctor_finds_a_router_that_reaches_no_primary(monkeypatch: pytest.MonkeyPatch) -> None:
    made = world()
    made.nomad["client/allocation/router-a/checks"] = {"c": {"Status": "failure", "Output": "nomad: http 503"}}
    (found,) = doctored(made, monkeypatch)
    assert found.what == "the router on client-1 does not pass its check: nomad: http 503"


def test_a_member_is_explained_with_its_group(monkeypatch: pytest.MonkeyPatch) -> None:
    made, (first, *others) = world(), SECONDARIES
    states = [replace(first, state="RECOVERING"), *others]
    monkeypatch.setattr(group, "states", lambda _nomad, _server: states)
    for one in MEMBERS:
        made.nomad[f"job/{one['job']}"] = {"ID": one["job"], "Type": "system", "TaskGroups": []}
    made.nomad["job/mysql-server-router"] = {"ID": "mysql-server-router", "Type": "system", "TaskGroups": []}
    seen = made.facts()
    assert [one.what for one in explain.reasons(seen, "mysql-server-1")[1]] == ["mysql-server-1 is RECOVERING"]
    assert explain.reasons(seen, "mysql-server-2")[1] == []
    assert [one.what for one in explain.reasons(seen, "mysql-server-router")[1]] == [
        "mysql-server-1 is RECOVERING",
        "of 3 members 2 are ONLINE",
        "no member is the primary: nobody can write",
    ]
