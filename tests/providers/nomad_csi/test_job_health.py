"""JobHealth and getService over gRPC: the newest version counts, and where it answers."""

from typing import Any

import pytest

from tests.fake_nomad import FakeNomad
from tests.providers.harness import Failed, PluginProcess, in_background

TYPE = "nomad-csi:index:JobHealth"
FUNCTION = "nomad-csi:index:getService"
INPUTS: dict[str, Any] = {"jobId": "db", "namespace": "default", "group": "g", "triggers": {}, "timeoutS": 20}
ARGS = {"jobId": "db", "group": "g", "portLabel": "db"}


def job(version: int) -> dict[str, Any]:
    return {"ID": "db", "Namespace": "default", "Version": version, "JobModifyIndex": 7, "Stop": False}


def allocation(allocation_id: str, version: int, healthy: bool | None = True, **changes: Any) -> dict[str, Any]:
    return {
        "ID": allocation_id,
        "NodeID": "node-1",
        "NodeName": "client-1",
        "TaskGroup": "g",
        "JobVersion": version,
        "CreateIndex": version * 10,
        "DesiredStatus": "run",
        "ClientStatus": "running",
        "DeploymentStatus": None if healthy is None else {"Healthy": healthy},
        "TaskStates": {"t": {"Events": [{"Type": "Driver Failure", "DisplayMessage": "no such image"}]}},
    } | changes


def test_it_waits_for_the_newest_version_and_not_for_the_one_that_runs_still(
    nomad: FakeNomad, plugin: PluginProcess
) -> None:
    nomad.put("job/db", job(2))
    nomad.put("job/db/allocations", [allocation("old", 1)])
    thread, created = in_background(lambda: plugin.create(TYPE, INPUTS))
    plugin.engine.wait_for("none is placed yet")
    nomad.put("job/db/allocations", [allocation("old", 1), allocation("new", 2, healthy=False)])
    plugin.engine.wait_for("new on client-1 is running")
    nomad.put("job/db/allocations", [allocation("old", 1), allocation("new", 2)])
    thread.join(10)
    assert created[0]["allocationId"] == "new"
    assert created[0]["nodeName"] == "client-1"


def test_before_anybody_serves_it_waits_for_an_allocation_that_runs_alone(
    nomad: FakeNomad, plugin: PluginProcess
) -> None:
    nomad.put("job/db", job(0))
    nomad.put("job/db/allocations", [allocation("a1", 0, healthy=None)])
    serving = INPUTS | {"serving": ["other", "first"]}
    assert plugin.create(TYPE, serving)["allocationId"] == "a1"
    created = serving | {"allocationId": "a1", "nodeName": "client-1"}
    nomad.put("job/first", job(0) | {"ID": "first"})
    with pytest.raises(Failed, match="has no healthy allocation after 1 s"):
        plugin.create(TYPE, serving | {"timeoutS": 1})
    with pytest.raises(Failed, match="has no healthy allocation after 1 s"):
        plugin.update(TYPE, "default/db/g", created, serving, serving | {"triggers": {"a": "1"}, "timeoutS": 1})


def test_at_the_deadline_it_shows_what_the_tasks_went_through(nomad: FakeNomad, plugin: PluginProcess) -> None:
    nomad.put("job/db", job(0))
    nomad.put("job/db/allocations", [allocation("a1", 0, healthy=None, ClientStatus="failed")])
    with pytest.raises(Failed, match="no such image") as failed:
        plugin.create(TYPE, INPUTS | {"timeoutS": 1})
    assert "has no healthy allocation after 1 s" in str(failed.value)


def test_at_the_deadline_its_commands_look_into_the_jobs_namespace(nomad: FakeNomad, plugin: PluginProcess) -> None:
    nomad.put("job/db", job(0), "databases")
    nomad.put("job/db/allocations", [], "databases")
    with pytest.raises(Failed, match="`nomad job status -namespace databases db`"):
        plugin.create(TYPE, INPUTS | {"namespace": "databases", "timeoutS": 1})


def test_at_the_deadline_it_shows_what_a_failing_check_said(nomad: FakeNomad, plugin: PluginProcess) -> None:
    nomad.put("job/db", job(0))
    nomad.put("job/db/allocations", [allocation("a1", 0, healthy=False)])
    said = {"1": {"Check": "ready", "Status": "failure", "Output": "member-2 does not\nanswer it"}}
    nomad.put("client/allocation/a1/checks", {**said, "2": {"Check": "alive", "Status": "success"}})
    with pytest.raises(Failed, match="a1 on client-1, check ready: member-2 does not answer it") as failed:
        plugin.create(TYPE, INPUTS | {"timeoutS": 1})
    assert "alive" not in str(failed.value)


def test_it_waits_for_as_many_allocations_as_are_wanted(nomad: FakeNomad, plugin: PluginProcess) -> None:
    nomad.put("job/db", job(0))
    nomad.put("job/db/allocations", [allocation("first", 0)])
    with pytest.raises(Failed, match="has 1 healthy allocations of 2 after 1 s"):
        plugin.create(TYPE, INPUTS | {"allocations": 2, "timeoutS": 1})
    nomad.put("job/db/allocations", [allocation("first", 0), allocation("second", 0, CreateIndex=5)])
    assert plugin.create(TYPE, INPUTS | {"allocations": 2})["allocationId"] == "second"


def test_a_job_that_is_not_there_is_told_at_once_with_the_remedy(plugin: PluginProcess) -> None:
    with pytest.raises(Failed, match="pulumi up --refresh"):
        plugin.create(TYPE, INPUTS)


def test_a_refresh_follows_the_job_to_its_new_client_and_forgets_a_job_that_is_gone(
    nomad: FakeNomad, plugin: PluginProcess
) -> None:
    state = INPUTS | {"allocationId": "a1", "nodeName": "client-1"}
    nomad.put("job/db", job(0))
    nomad.put("job/db/allocations", [allocation("a2", 0, NodeName="client-2")])
    found = plugin.found(TYPE, "default/db/g", INPUTS, state)
    assert (found["allocationId"], found["nodeName"]) == ("a2", "client-2")
    nomad.put("job/db", None)
    assert plugin.read(TYPE, "default/db/g", INPUTS, state) is None


@pytest.mark.parametrize(
    "known", [{"allocationId": "a1", "nodeName": "client-1"}, {"allocationId": "", "nodeName": ""}]
)
def test_a_refresh_while_nothing_runs_keeps_what_ran_last(
    nomad: FakeNomad, plugin: PluginProcess, known: dict[str, Any]
) -> None:
    nomad.put("job/db", job(0))
    nomad.put("job/db/allocations", [allocation("a1", 0, ClientStatus="lost", DesiredStatus="stop")])
    before = INPUTS | {name: value for name, value in known.items() if value}
    found = plugin.found(TYPE, "default/db/g", INPUTS, before)
    assert {name: found[name] for name in known} == known


def test_the_service_is_where_the_newest_running_allocation_is(nomad: FakeNomad, plugin: PluginProcess) -> None:
    nomad.put("job/db/allocations", [allocation("a1", 1, DesiredStatus="stop"), allocation("a2", 2)])
    ports = [{"Label": "db", "Value": 3306, "HostIP": "10.0.0.5"}]
    nomad.put("allocation/a2", {"AllocatedResources": {"Shared": {"Ports": ports}}})
    found = plugin.invoke(FUNCTION, ARGS)
    assert (found["allocationId"], found["host"], found["port"]) == ("a2", "10.0.0.5", 3306)


def test_a_service_that_does_not_run_is_empty_and_not_an_error(plugin: PluginProcess) -> None:
    found = plugin.invoke(FUNCTION, ARGS)
    assert (found["allocationId"], found["host"], found["port"]) == ("", "", 0)


def test_a_service_needs_to_be_named(plugin: PluginProcess) -> None:
    with pytest.raises(Failed, match="jobId is required"):
        plugin.invoke(FUNCTION, {"group": "g", "portLabel": "db"})


@pytest.mark.parametrize(
    ("job", "purged"), [(None, False), ({"Stop": False, "TaskGroups": []}, False), ({"Stop": True}, True)]
)
def test_its_deletion_purges_a_job_that_was_stopped_and_touches_no_other(
    nomad: FakeNomad, plugin: PluginProcess, job: Any, purged: bool
) -> None:
    nomad.put("job/db", job)
    plugin.delete(TYPE, "default/db/g", INPUTS | {"allocationId": "a1", "nodeName": "client-1"})
    deletions = [asked.query for asked in nomad.requests if asked.method == "DELETE"]
    assert deletions == ([{"namespace": "default", "purge": "true"}] if purged else [])


def test_a_job_is_not_purged_while_nomad_has_not_evaluated_it(nomad: FakeNomad, plugin: PluginProcess) -> None:
    evaluations = "job/db/evaluations"
    later = {"ID": "later", "Status": "pending", "Wait": 0, "WaitUntil": "2026-11-22T10:15:00Z"}
    pending = {"ID": "e1", "Status": "pending", "Wait": 0, "WaitUntil": "0001-01-01T00:00:00Z"}
    nomad.put("job/db", {"Stop": True})
    nomad.put(evaluations, [pending])
    deleting, outcome = in_background(lambda: plugin.delete(TYPE, "default/db/g", INPUTS | {"allocationId": ""}))
    nomad.wait_for_request(evaluations)
    # A change that ends nothing: had it not waited, it would be gone by the answer to this.
    nomad.put(evaluations, [pending, later])
    assert "job/db" not in nomad.requested("DELETE")
    nomad.put(evaluations, [pending | {"Status": "complete"}, later])
    deleting.join(10)
    assert (nomad.requested("DELETE"), outcome) == (["job/db"], [None])


@pytest.mark.parametrize(("mode", "named"), [("single-node-writer", True), ("multi-node-multi-writer", False)])
def test_at_the_deadline_it_names_the_job_that_keeps_a_volume_from_it(
    nomad: FakeNomad, plugin: PluginProcess, mode: str, named: bool
) -> None:
    groups = [{"Count": 1, "Volumes": {"data": {"Type": "csi", "Source": "data"}}}]
    nomad.put("job/db", {"ID": "db", "Namespace": "default", "Version": 0, "TaskGroups": groups})
    nomad.put("job/db/allocations", [allocation("new", 0, ClientStatus="pending")])
    other = {"ID": "8f3c2a1b-0000", "Namespace": "default", "JobID": "keeper", "NodeName": "client-1"}
    stub = other | {"NodeID": "node-1", "DesiredStatus": "run", "ClientStatus": "running"}
    nomad.put("volume/csi/data", {"ID": "data", "AccessMode": mode, "Allocations": [stub]})
    with pytest.raises(Failed, match="db has no healthy allocation") as failed:
        plugin.create(TYPE, INPUTS | {"timeoutS": 1})
    said = "volume data is claimed by allocation 8f3c2a1b of job keeper on client-1 (running)"
    assert (said in failed.value.message) == named


def test_a_system_job_is_awaited_on_every_client_that_has_one_of_it(nomad: FakeNomad, plugin: PluginProcess) -> None:
    nomad.put("job/db", job(2) | {"Type": "system"})
    away = allocation("away", 1, ClientStatus="unknown")
    nomad.put("job/db/allocations", [allocation("first", 2), allocation("old", 1), away])
    with pytest.raises(Failed, match="has 1 healthy allocations of 2 after 1 s"):
        plugin.create(TYPE, INPUTS | {"timeoutS": 1})
    nomad.put("job/db/allocations", [allocation("first", 2), allocation("second", 2, CreateIndex=30), away])
    assert plugin.create(TYPE, INPUTS)["allocationId"] == "second"


def test_of_a_system_job_what_runs_counts_once_its_deployment_has_ended(
    nomad: FakeNomad, plugin: PluginProcess
) -> None:
    nomad.put("job/db", job(2) | {"Type": "system"})
    nomad.put("job/db/allocations", [allocation("first", 2), allocation("came-later", 2, healthy=None)])
    nomad.put("job/db/deployment", {"JobVersion": 2, "Status": "running"})
    with pytest.raises(Failed, match="has 1 healthy allocations of 2 after 1 s"):
        plugin.create(TYPE, INPUTS | {"timeoutS": 1})
    nomad.put("job/db/deployment", {"JobVersion": 2, "Status": "successful"})
    plugin.create(TYPE, INPUTS)
