"""VolumeRelease over gRPC: its deletion is the wait."""

from typing import Any

import pytest

from nomad_stateful.plugin_server.values import UNKNOWN
from tests.fake_nomad import FakeNomad
from tests.providers.harness import Failed, PluginProcess, in_background

TYPE = "nomad-csi:index:VolumeRelease"
INPUTS: dict[str, Any] = {
    "volumeId": "mysql",
    "namespace": "default",
    "backend": "none",
    "externalId": "",
    "region": "",
    "consumerJobId": "",
    "registrationId": "reg-1",
    "timeoutS": 20,
}
STATE = INPUTS | {"releaseId": "r1"}
ALLOC = "8f3c2a1b-0000"


def claimed(status: str = "running") -> dict[str, Any]:
    stub = {
        "ID": ALLOC,
        "Namespace": "default",
        "JobID": "mysql-server",
        "NodeID": "abcdef0123",
        "NodeName": "client-1",
        "DesiredStatus": "run",
        "ClientStatus": status,
    }
    return {"ID": "mysql", "PluginID": "ebs", "Allocations": [stub], "ReadAllocs": {}, "WriteAllocs": {ALLOC: None}}


FREE: dict[str, Any] = {"ID": "mysql", "PluginID": "ebs", "Allocations": [], "ReadAllocs": {}, "WriteAllocs": {}}


def test_each_creation_has_a_release_id_of_its_own(plugin: PluginProcess) -> None:
    planned = plugin.create(TYPE, INPUTS, preview=True)
    assert (planned.id, planned["releaseId"]) == ("", UNKNOWN)
    assert plugin.create(TYPE, INPUTS)["releaseId"] != plugin.create(TYPE, INPUTS)["releaseId"]


@pytest.mark.parametrize("change", [{"timeoutS": 9}, {"region": "eu-west-1"}, {"backend": "ebs"}])
def test_how_to_wait_changes_in_place_and_keeps_the_release_id(plugin: PluginProcess, change: dict[str, Any]) -> None:
    diff = plugin.diff(TYPE, "r1", STATE, INPUTS, INPUTS | change)
    assert diff.changed
    assert diff.replaces == []
    assert plugin.update(TYPE, "r1", STATE, INPUTS, INPUTS | change)["releaseId"] == "r1"


def test_delete_returns_when_the_last_claim_is_gone(nomad: FakeNomad, plugin: PluginProcess) -> None:
    nomad.put("volume/csi/mysql", claimed())
    thread, outcome = in_background(lambda: plugin.delete(TYPE, "r1", STATE))
    message = plugin.engine.wait_for("waiting until volume mysql is released by")
    assert "allocation 8f3c2a1b of job mysql-server on client-1 (running)" in message
    nomad.put("volume/csi/mysql", FREE)
    thread.join()
    assert outcome == [None]
    assert nomad.requested("DELETE") == [], "nothing is forced"


def test_delete_of_a_volume_that_is_not_registered_is_done(plugin: PluginProcess) -> None:
    plugin.delete(TYPE, "r1", STATE)


def consumer(*, stopped: bool, source: str = "mysql", per_alloc: bool = False, count: int = 1) -> dict[str, Any]:
    request = {"Type": "csi", "Source": source, "PerAlloc": per_alloc}
    host = {"Type": "host", "Source": "mysql"}
    groups = [{"Count": count, "Volumes": {"data": request, "logs": host}}, {"Count": 1, "Volumes": None}]
    return {"ID": "mysql-server", "Stop": stopped, "TaskGroups": groups}


def deletions_of_the_job(nomad: FakeNomad) -> list[dict[str, str]]:
    return [
        dict(asked.query) for asked in nomad.requests if (asked.method, asked.path) == ("DELETE", "job/mysql-server")
    ]


@pytest.mark.parametrize(
    ("volume_id", "job"),
    [
        ("mysql", consumer(stopped=False)),
        ("mysql[2]", consumer(stopped=False, per_alloc=True, count=3)),
    ],
)
def test_a_consumer_whose_version_uses_the_volume_is_stopped_and_stays_known(
    nomad: FakeNomad, plugin: PluginProcess, volume_id: str, job: dict[str, Any]
) -> None:
    nomad.put("job/mysql-server", job)
    plugin.delete(TYPE, "r1", STATE | {"consumerJobId": "mysql-server", "volumeId": volume_id})
    assert deletions_of_the_job(nomad) == [{"namespace": "default"}]
    plugin.engine.wait_for("stopping job mysql-server (namespace default)")


@pytest.mark.parametrize(
    ("volume_id", "job"),
    [
        ("mysql", None),
        ("mysql", consumer(stopped=False, source="other")),
        ("mysql[2]", consumer(stopped=False, per_alloc=True, count=2)),
        ("mysql", consumer(stopped=False, per_alloc=True, count=2)),
        ("mysql", consumer(stopped=True, source="other")),
    ],
)
def test_a_job_that_is_gone_or_does_not_use_the_volume_is_left_alone(
    nomad: FakeNomad, plugin: PluginProcess, volume_id: str, job: Any
) -> None:
    nomad.put("job/mysql-server", job)
    plugin.delete(TYPE, "r1", STATE | {"consumerJobId": "mysql-server", "volumeId": volume_id})
    assert nomad.requested("DELETE") == []


def test_a_stopped_consumer_is_purged_once_its_claim_is_gone(nomad: FakeNomad, plugin: PluginProcess) -> None:
    nomad.put("job/mysql-server", consumer(stopped=True))
    nomad.put("volume/csi/mysql", claimed())
    thread, _ = in_background(lambda: plugin.delete(TYPE, "r1", STATE | {"consumerJobId": "mysql-server"}))
    plugin.engine.wait_for("waiting until volume mysql is released by")
    assert deletions_of_the_job(nomad) == []
    nomad.put("volume/csi/mysql", FREE)
    thread.join()
    assert deletions_of_the_job(nomad) == [{"namespace": "default", "purge": "true"}]


def test_a_stopped_consumer_with_another_volume_still_claimed_is_left_to_that_ones_release(
    nomad: FakeNomad, plugin: PluginProcess
) -> None:
    nomad.put("job/mysql-server", consumer(stopped=True, per_alloc=True, count=2))
    nomad.put("volume/csi/mysql%5B0%5D", FREE)
    nomad.put("volume/csi/mysql%5B1%5D", claimed())
    state = STATE | {"consumerJobId": "mysql-server", "volumeId": "mysql[0]"}
    plugin.delete(TYPE, "r1", state)
    assert deletions_of_the_job(nomad) == []
    nomad.put("volume/csi/mysql%5B1%5D", FREE)
    plugin.delete(TYPE, "r2", state | {"volumeId": "mysql[1]"})
    assert deletions_of_the_job(nomad) == [{"namespace": "default", "purge": "true"}]


@pytest.mark.parametrize(
    ("status", "job", "client", "next_step"),
    [
        ("running", {"Stop": False}, "ready", "`nomad job stop -namespace default mysql-server`"),
        ("running", {"Stop": True}, "ready", "`nomad alloc status -namespace default 8f3c2a1b`"),
        ("lost", {"Stop": True}, "down", "`nomad operator api -X PUT /v1/node/abcdef0123/purge`"),
        (
            "complete",
            {"Stop": True},
            "ready",
            "`nomad volume status -namespace default mysql`: the node plugin on client-1 unmounts it first",
        ),
    ],
)
def test_at_the_deadline_it_names_the_holder_and_the_next_command(
    nomad: FakeNomad, plugin: PluginProcess, status: str, job: dict[str, Any], client: str, next_step: str
) -> None:
    nomad.put("volume/csi/mysql", claimed(status))
    plugins = {"ebs": {"NodeInfo": {"ID": "i-1"}}}
    nomad.put("node/abcdef0123", {"ID": "abcdef0123", "Name": "client-1", "Status": client, "CSINodePlugins": plugins})
    nomad.put("job/mysql-server", {"ID": "mysql-server"} | job)
    with pytest.raises(Failed) as failed:
        plugin.delete(TYPE, "r1", STATE | {"timeoutS": 1})
    assert "volume mysql (namespace default) is still in use after 1 s; nothing was forced" in failed.value.message
    assert f"allocation 8f3c2a1b of job mysql-server on client-1 ({status}) claims it" in failed.value.message
    assert next_step in failed.value.message


def test_a_claim_whose_allocation_nomad_has_forgotten_still_counts(nomad: FakeNomad, plugin: PluginProcess) -> None:
    nomad.put("volume/csi/mysql", FREE | {"WriteAllocs": {ALLOC: None}})
    with pytest.raises(Failed, match="allocation 8f3c2a1b \\(stopping, its job is purged\\) claims it"):
        plugin.delete(TYPE, "r1", STATE | {"timeoutS": 1})


def test_read_leaves_the_state_as_it_is(plugin: PluginProcess) -> None:
    assert plugin.found(TYPE, "r1", INPUTS, STATE).outputs.props == STATE


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"backend": "ebs", "externalId": "mysql"}, "externalId is 'mysql'"),
        ({"backend": "efs"}, "backend is 'efs': it must be one of ebs, none"),
        ({"volumeId": "a b"}, "volumeId is 'a b'"),
        ({"timeoutS": 1.5}, "timeoutS is 1.5"),
    ],
)
def test_bad_inputs_are_refused_with_key_and_value(plugin: PluginProcess, change: dict[str, Any], reason: str) -> None:
    assert reason in plugin.check(TYPE, INPUTS | change).reasons


def test_an_unknown_volume_passes_the_check(plugin: PluginProcess) -> None:
    unknown = {"volumeId": UNKNOWN, "backend": "ebs", "externalId": UNKNOWN}
    assert plugin.check(TYPE, INPUTS | unknown).failures == []


@pytest.mark.parametrize(("description", "warned"), [(None, True), ({"Description": "MySQL"}, False)])
def test_a_replacement_under_a_job_of_an_earlier_release_says_what_to_do_first(
    nomad: FakeNomad, plugin: PluginProcess, description: Any, warned: bool
) -> None:
    groups = [{"Name": "mysql", "Count": 1, "Meta": {"volume_release": "r1"}}]
    nomad.put("job/mysql-server", {"ID": "mysql-server", "UI": description, "TaskGroups": groups})
    consumed = INPUTS | {"consumerJobId": "mysql-server"}
    state = STATE | consumed
    assert plugin.diff(TYPE, "r1", state, consumed, consumed | {"registrationId": UNKNOWN}).replaces
    said = [text for _, text in plugin.engine.messages if "deployed by an earlier release" in text]
    assert bool(said) == warned


def test_a_change_in_place_asks_nothing_of_nomad(nomad: FakeNomad, plugin: PluginProcess) -> None:
    consumed = INPUTS | {"consumerJobId": "mysql-server"}
    plugin.diff(TYPE, "r1", STATE | consumed, consumed, consumed | {"timeoutS": 9})
    assert nomad.requests == []
