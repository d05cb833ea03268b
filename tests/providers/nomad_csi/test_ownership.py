"""Ownership and getOwners over gRPC, on a Nomad in nomad: one stack alone has an id, and only it gives it up."""

import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.fake_nomad import FakeNomad
from tests.providers.harness import Failed, PluginProcess, plugin_process
from tests.providers.nomad.agent import Agent
from tests.providers.nomad_csi.conftest import EXECUTABLE

TYPE = "nomad-csi:index:Ownership"
HEALTH = "nomad-csi:index:JobHealth"
OWNERS = "nomad-csi:index:getOwners"
PATH = "var/nomad/jobs/nomad-stateful/jobs/db"
FIRST: dict[str, Any] = {
    "kind": "job",
    "resourceId": "db",
    "namespace": "default",
    "stack": "organization/nomad-stateful/first",
    "expects": "nothing",
}
SECOND = FIRST | {"stack": "organization/nomad-stateful/second"}


def put_job(nomad: FakeNomad, job: str = "db") -> None:
    nomad.put(f"job/{job}", {"ID": job, "Namespace": "default", "Stop": False, "Version": 0})


def test_a_second_stack_does_not_get_what_the_first_has(nomad: FakeNomad, plugin: PluginProcess) -> None:
    plugin.create(TYPE, FIRST)
    with pytest.raises(
        Failed, match=r"job db .namespace default. belongs to the stack organization/nomad-stateful/first"
    ):
        plugin.create(TYPE, SECOND)
    assert nomad.records[PATH]["Items"]["stack"] == FIRST["stack"]


def test_of_many_at_once_one_gets_it(nomad: FakeNomad, plugin: PluginProcess) -> None:
    together = threading.Barrier(8)

    def ask(number: int) -> str:
        together.wait()
        try:
            return str(plugin.create(TYPE, FIRST | {"stack": f"organization/nomad-stateful/s{number}"})["stack"])
        except Failed:
            return ""

    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(ask, range(8)))
    (winner,) = filter(None, outcomes)
    assert nomad.records[PATH]["Items"]["stack"] == winner


def test_what_is_there_unclaimed_is_taken_only_where_it_was_looked_at(nomad: FakeNomad, plugin: PluginProcess) -> None:
    put_job(nomad)
    with pytest.raises(Failed, match=r"in Nomad already and not in this stack's state.*list db in `adopt`"):
        plugin.create(TYPE, FIRST)
    assert PATH not in nomad.records
    plugin.create(TYPE, FIRST | {"expects": "unclaimed"})
    assert nomad.records[PATH]["Items"]["stack"] == FIRST["stack"]


def test_a_claim_is_taken_over_by_its_owner_id_alone(nomad: FakeNomad, plugin: PluginProcess) -> None:
    made = plugin.create(TYPE, FIRST)
    with pytest.raises(Failed, match="belongs to the stack"):
        plugin.create(TYPE, SECOND | {"expects": "unclaimed"})
    plugin.create(TYPE, SECOND | {"expects": made["ownerId"]})
    assert nomad.records[PATH]["Items"]["stack"] == SECOND["stack"]
    # The first lost it, so its deletion leaves it to the second.
    plugin.delete(TYPE, made.id, made.outputs.props)
    assert nomad.records[PATH]["Items"]["stack"] == SECOND["stack"]


def test_a_claim_that_was_lost_is_a_change_and_what_was_expected_once_is_none(
    nomad: FakeNomad, plugin: PluginProcess
) -> None:
    made = plugin.create(TYPE, FIRST)
    state, owner_id = made.outputs.props, made["ownerId"]
    for expects in ("unclaimed", owner_id, "nothing"):
        assert plugin.diff(TYPE, made.id, state, FIRST, FIRST | {"expects": expects}).detailed == {}
    del nomad.records[PATH]
    lost = FIRST | {"expects": "unclaimed"}
    assert plugin.diff(TYPE, made.id, state, lost, lost).detailed == {"expects": "UPDATE"}
    assert plugin.update(TYPE, made.id, state, lost, lost)["ownerId"] == owner_id
    assert nomad.records[PATH]["Items"]["owner"] == owner_id


def test_a_set_members_brackets_become_characters_that_nomad_allows(nomad: FakeNomad, plugin: PluginProcess) -> None:
    plugin.create(TYPE, FIRST | {"kind": "volume", "resourceId": "data[0]"})
    assert "var/nomad/jobs/nomad-stateful/volumes/data~5b0~5d" in nomad.records


@pytest.mark.parametrize("owner_id", ["", "another"])
def test_the_health_of_another_stacks_job_is_not_deleted_and_nothing_is_purged(
    nomad: FakeNomad, plugin: PluginProcess, owner_id: str
) -> None:
    plugin.create(TYPE, FIRST)
    nomad.put("job/db", {"ID": "db", "Namespace": "default", "Stop": True, "TaskGroups": []})
    state = {"jobId": "db", "namespace": "default", "group": "g", "triggers": {}, "timeoutS": 2, "allocations": 1}
    with pytest.raises(Failed, match=r"belongs to the stack organization/nomad-stateful/first.*pulumi state delete"):
        plugin.delete(HEALTH, "default/db/g", state | {"ownerId": owner_id})
    assert "job/db" in nomad.records


def test_it_says_what_is_there_and_whose_it_is(nomad: FakeNomad, plugin: PluginProcess) -> None:
    made = plugin.create(TYPE, FIRST)
    put_job(nomad)
    nomad.put("var/nomad/jobs/alone", {"Path": "nomad/jobs/alone", "Items": {"a": "b"}})
    nomad.put("volumes", [{"ID": "disk", "Namespace": "elsewhere", "ExternalID": "vol-1", "PluginID": "ebs"}])
    found = plugin.invoke(OWNERS, {"jobs": ["db", "alone", "none"], "volumes": ["disk"]})
    assert [(one["id"], one["exists"], one["stack"]) for one in found["found"]] == [
        ("db", True, FIRST["stack"]),
        ("alone", True, ""),
        ("none", False, ""),
        ("disk", False, ""),
    ]
    assert found["found"][0]["ownerId"] == made["ownerId"]
    assert found["registrations"] == [
        {"namespace": "elsewhere", "id": "disk", "externalId": "vol-1", "pluginId": "ebs"}
    ]


def put_volume(nomad: FakeNomad, volume: str, *users: str) -> None:
    """Registers a volume that jobs have claims to."""
    stubs = [{"ID": f"allocation-{user}", "JobID": user} for user in users]
    nomad.put(f"volume/csi/{volume}", {"ID": volume, "Namespace": "default", "Allocations": stubs})


def test_of_many_ids_that_are_the_stacks_own_only_the_claims_are_asked_one_by_one(
    nomad: FakeNomad, plugin: PluginProcess
) -> None:
    ids = [f"own{number}" for number in range(20)]
    for one in ids:
        plugin.create(TYPE, FIRST | {"resourceId": one})
        plugin.create(TYPE, FIRST | {"resourceId": one, "kind": "volume"})
        put_job(nomad, one)
        put_volume(nomad, one, "db")
        nomad.requests.clear()
    found = plugin.invoke(OWNERS, {"jobs": ids, "volumes": ids})["found"]
    assert [one for one in found if not one["exists"] or one["stack"] != FIRST["stack"]] == []
    others = [path for path in nomad.requested("GET") if not path.startswith("var/nomad/jobs/nomad-stateful/")]
    assert sorted(others) == ["jobs", "volumes"]
    assert len(nomad.requested("GET")) == 42
    (used,) = plugin.invoke(OWNERS, {"volumes": ids[:1], "users": True})["found"]
    assert used["users"] == ["db"]


def test_a_volume_that_the_token_may_not_list_is_asked_for_by_itself(nomad: FakeNomad, plugin: PluginProcess) -> None:
    put_volume(nomad, "hidden", "writer", "reader")
    nomad.put("volumes", [])
    (found,) = plugin.invoke(OWNERS, {"volumes": ["hidden"]})["found"]
    assert found["exists"] is True
    assert found["users"] == ["reader", "writer"]


def test_a_real_nomad_lists_a_job_and_whether_it_was_stopped_without_its_runs(agent: Agent) -> None:
    name = f"t-{uuid.uuid4().hex[:8]}"
    task = {"Name": "main", "Driver": "raw_exec", "Config": {"command": "true"}}
    group = {
        "Name": "main",
        "Count": 1,
        "Tasks": [task],
        "Constraints": [{"LTarget": "a", "Operand": "=", "RTarget": "b"}],
    }
    job = {
        "ID": name,
        "Name": name,
        "Type": "batch",
        "Datacenters": ["*"],
        "ParameterizedJob": {},
        "TaskGroups": [group],
    }
    agent.api.put("jobs", {"Job": job})
    run = agent.api.put(f"job/{name}/dispatch", {})["DispatchedJobID"]
    with plugin_process(EXECUTABLE, {"NOMAD_ADDR": agent.address}) as process:
        process.configure()
        found = process.invoke(OWNERS, {"jobs": [name, run]})["found"]
        assert [(one["exists"], one["stopped"]) for one in found] == [(True, False), (False, False)]
        agent.api.delete(f"job/{name}")
        assert process.invoke(OWNERS, {"jobs": [name]})["found"][0]["stopped"] is True
