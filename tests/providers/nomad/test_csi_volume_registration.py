"""nomad:index/csiVolumeRegistration:CsiVolumeRegistration, and what CsiVolume does differently."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import pytest

from nomad_stateful.nomad.api import NomadError
from nomad_stateful.plugin_server.values import UNKNOWN
from tests.fake_nomad import FakeNomad
from tests.providers.harness import Failed, PluginProcess, in_background
from tests.providers.nomad.agent import Agent, eventually
from tests.providers.nomad.csi_zone import ZONE
from tools.toolchain import csi_proto_dir

pytestmark = pytest.mark.nomad

REGISTRATION = "nomad:index/csiVolumeRegistration:CsiVolumeRegistration"
VOLUME = "nomad:index/csiVolume:CsiVolume"
TOP = Path(__file__).resolve().parents[3]
PLUGIN_ID = "conformance"
HEALTHY_S = 60.0

WRITER = {"accessMode": "single-node-writer", "attachmentMode": "file-system"}
READER = {"accessMode": "single-node-reader-only", "attachmentMode": "file-system"}
# budgets are a minute shorter than the timeout
ONE_TRY_S, SHORT_S = 60.0, 62.0


def inputs_for(volume_id: str, **more: Any) -> dict[str, Any]:
    return {
        "volumeId": volume_id,
        "name": volume_id,
        "externalId": f"vol-{volume_id}",
        "pluginId": PLUGIN_ID,
        "capabilities": [WRITER],
        **more,
    }


def checked(plugin: PluginProcess, token: str = REGISTRATION, **inputs: Any) -> dict[str, Any]:
    result = plugin.check(token, inputs)
    assert not result.failures, result.reasons
    return result.inputs.props


@pytest.fixture(scope="module")
def csi_plugin(agent: Agent) -> str:
    """A healthy node-only CSI plugin."""
    proto = csi_proto_dir()
    if not proto.is_dir():
        pytest.skip("no generated CSI protocol: run python -m tools.toolchain")
    task = {
        "Name": "plugin",
        "Driver": "raw_exec",
        "Config": {"command": sys.executable, "args": ["-m", "tests.providers.nomad.csi_node_plugin"]},
        "Env": {"PYTHONPATH": f"{TOP}:{proto}", "GRPC_VERBOSITY": "NONE"},
        "CSIPluginConfig": {"ID": PLUGIN_ID, "Type": "node", "MountDir": "/csi"},
        "Resources": {"CPU": 50, "MemoryMB": 100},
    }
    group = {"Name": "plugin", "Count": 1, "Tasks": [task]}
    job = {"ID": "csi", "Name": "csi", "Type": "system", "Datacenters": ["*"], "TaskGroups": [group]}
    agent.api.put("jobs", {"Job": job})

    def healthy() -> bool:
        try:
            return bool(agent.api.get(f"plugin/csi/{PLUGIN_ID}")["NodesHealthy"] == 1)
        except NomadError:
            return False

    eventually(healthy, HEALTHY_S, lambda: f"the CSI plugin is not healthy: {agent.allocations('csi')}")
    return PLUGIN_ID


def required(zone: dict[str, str]) -> dict[str, Any]:
    return {"required": {"topologies": [{"segments": zone}]}}


# -- with a healthy plugin --


def test_a_volume_is_registered_read_and_deregistered(plugin: PluginProcess, csi_plugin: str, name: str) -> None:
    mount = {"fsType": "ext4", "mountFlags": ["noatime"]}
    given = inputs_for(name, capacityMin="1GiB", mountOptions=mount, topologyRequest=required(ZONE), context={"a": "b"})
    inputs = checked(plugin, **given, secrets={"key": "swordfish"})
    volume = plugin.create(REGISTRATION, inputs)
    assert volume.id == name
    assert (volume["nodesHealthy"], volume["pluginProvider"], volume["pluginProviderVersion"]) == (
        1,
        "node.example.test",
        "1.2.3",
    )
    assert volume["topologies"] == [{"segments": ZONE}]
    assert (volume["capacityMin"], volume["capacityMinBytes"]) == ("1.0 GiB", 2**30)
    assert (volume["mountOptions"], volume.outputs.secrets) == (mount, {"secrets"})
    assert not plugin.diff(REGISTRATION, name, volume.outputs.props, inputs, inputs).changed
    found = plugin.found(REGISTRATION, name, inputs, volume.outputs.props)
    assert found.outputs.props == volume.outputs.props
    assert found.inputs.props == inputs
    plugin.delete(REGISTRATION, name, volume.outputs.props)
    assert plugin.read(REGISTRATION, name, inputs, volume.outputs.props) is None


def test_capabilities_are_a_set_and_change_in_place(plugin: PluginProcess, csi_plugin: str, name: str) -> None:
    inputs = checked(plugin, **inputs_for(name))
    volume = plugin.create(REGISTRATION, inputs)
    both = inputs | {"capabilities": [READER, WRITER]}
    diff = plugin.diff(REGISTRATION, name, volume.outputs.props, inputs, both)
    assert diff.changed
    assert diff.replaces == []
    updated = plugin.update(REGISTRATION, name, volume.outputs.props, inputs, both)
    assert updated["capabilities"] == [READER, WRITER]
    swapped = inputs | {"capabilities": [WRITER, READER]}
    assert not plugin.diff(REGISTRATION, name, updated.outputs.props, both, swapped).changed
    plugin.delete(REGISTRATION, name, updated.outputs.props)


def test_a_change_behind_our_back_shows_in_a_refresh(
    plugin: PluginProcess, agent: Agent, csi_plugin: str, name: str
) -> None:
    inputs = checked(plugin, **inputs_for(name))
    volume = plugin.create(REGISTRATION, inputs)
    record = agent.api.get(f"volume/csi/{name}")
    reader = {"AccessMode": READER["accessMode"], "AttachmentMode": READER["attachmentMode"]}
    record["RequestedCapabilities"] = [*record["RequestedCapabilities"], reader]
    agent.api.put(f"volume/csi/{name}", {"Volumes": [record]})
    found = plugin.found(REGISTRATION, name, inputs, volume.outputs.props)
    assert READER in found.inputs["capabilities"]
    assert plugin.diff(REGISTRATION, name, found.outputs.props, found.inputs.props, inputs).changed
    plugin.delete(REGISTRATION, name, volume.outputs.props)


def test_a_refused_update_ends_at_once(plugin: PluginProcess, csi_plugin: str, name: str) -> None:
    inputs = checked(plugin, **inputs_for(name, topologyRequest=required(ZONE)))
    volume = plugin.create(REGISTRATION, inputs)
    moved = inputs | {"topologyRequest": required({"topology.example.test/zone": "zone-b"})}
    diff = plugin.diff(REGISTRATION, name, volume.outputs.props, inputs, moved)
    assert (diff.changed, diff.replaces) == (True, [])
    begun = time.monotonic()
    with pytest.raises(Failed, match="not compatible with existing topology"):
        plugin.update(REGISTRATION, name, volume.outputs.props, inputs, moved)
    assert time.monotonic() - begun < 5
    plugin.delete(REGISTRATION, name, volume.outputs.props)


def test_an_import_takes_id_and_namespace(plugin: PluginProcess, csi_plugin: str, name: str) -> None:
    inputs = checked(plugin, **inputs_for(name, topologyRequest=required(ZONE), context={"a": "b"}))
    plugin.create(REGISTRATION, inputs)
    found = plugin.found(REGISTRATION, f"{name}@default")
    assert found.id == name
    # An import leaves what is no property of the volume unset, as the official plugin does.
    changes = plugin.diff(REGISTRATION, name, found.outputs.props, found.inputs.props, inputs)
    assert (list(changes.detailed), changes.replaces) == (["deregisterOnDestroy"], [])
    plugin.delete(REGISTRATION, name, found.outputs.props)
    assert plugin.read(REGISTRATION, f"{name}@default") is None


def test_get_plugin_tells_of_the_nodes(plugin: PluginProcess, csi_plugin: str) -> None:
    found = plugin.invoke("nomad:index/getPlugin:getPlugin", {"pluginId": csi_plugin, "waitForHealthy": True})
    assert (found["nodesExpected"], found["nodesHealthy"], found["id"]) == (1, 1, csi_plugin)
    assert [node["healthy"] for node in found["nodes"]] == [True]
    rows = plugin.invoke("nomad:index/getPlugins:getPlugins")["plugins"]
    assert {"id": csi_plugin, "nodes_healthy": "1"}.items() <= rows[0].items()


# -- checks --


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"capabilities": []}, "give at least one access and attachment mode"),
        (
            {"capabilities": [WRITER | {"accessMode": "rw"}]},
            "capabilities[0].accessMode is 'rw': use one of single-node",
        ),
        ({"capabilities": [WRITER | {"attachmentMode": "nfs"}]}, "use one of block-device, file-system"),
        ({"capacityMin": "ten"}, "invalid capacity: unable to parse 'ten'"),
        ({"capacityMin": "10GiB", "capacityMax": "9GB"}, "capacityMax is not an input"),
        ({"topologyRequest": {"preferred": {}}}, "topologyRequest.preferred is not supported here"),
        ({"topologyRequest": {"required": {"topologies": []}}}, "needs topologies, each with segments"),
        ({"externalId": None}, "externalId is required"),
        ({"colour": "red"}, "colour is not an input"),
        ({"secrets": {"key": 5}}, "secrets.key must be a string"),
    ],
)
def test_bad_input_is_refused_at_preview(offline: PluginProcess, change: dict[str, Any], reason: str) -> None:
    assert reason in offline.check(REGISTRATION, inputs_for("v") | change).reasons


def test_unknown_inputs_are_taken_for_right(offline: PluginProcess) -> None:
    given: dict[str, Any] = inputs_for("v") | {
        "externalId": UNKNOWN,
        "capacityMin": UNKNOWN,
        "capabilities": [{"accessMode": UNKNOWN, "attachmentMode": "file-system"}],
        "topologyRequest": {"required": {"topologies": [{"segments": {"zone": UNKNOWN}}]}},
    }
    inputs = checked(offline, **given)
    assert offline.create(REGISTRATION, inputs, preview=True)["schedulable"] is UNKNOWN


def test_a_name_is_made_up_once_and_then_kept(offline: PluginProcess) -> None:
    given = {key: value for key, value in inputs_for("v").items() if key != "name"}
    first = offline.check(REGISTRATION, given, name="data").inputs.props
    assert first["name"].startswith("data-")
    assert len(first["name"]) == len("data-") + 7
    assert "name" in first["__defaults"]
    assert offline.check(REGISTRATION, given, olds=first, name="data").inputs["name"] == first["name"]
    explicit = offline.check(REGISTRATION, given | {"name": "mine"}, olds=first, name="data").inputs
    assert (explicit["name"], "name" in explicit["__defaults"]) == ("mine", False)


@pytest.mark.parametrize("key", ["volumeId", "externalId", "pluginId", "namespace"])
def test_an_identity_change_replaces_and_deletes_first_under_an_explicit_name(offline: PluginProcess, key: str) -> None:
    inputs = checked(offline, **inputs_for("v"))
    diff = offline.diff(REGISTRATION, "v", inputs, inputs, inputs | {key: "other"})
    assert (diff.replaces, diff.delete_before_replace) == ([key], True)
    made_up = inputs | {"__defaults": ["name"], key: "other"}
    assert not offline.diff(REGISTRATION, "v", inputs, inputs, made_up).delete_before_replace


def test_only_the_structure_of_a_topology_request_replaces(offline: PluginProcess) -> None:
    inputs = checked(offline, **inputs_for("v", topologyRequest=required({"a/zone": "1"})))
    moved = inputs | {"topologyRequest": required({"a/zone": "2"})}
    more = {"required": {"topologies": [{"segments": {"a/zone": "1"}}, {"segments": {"a/zone": "2"}}]}}
    assert offline.diff(REGISTRATION, "v", inputs, inputs, moved).replaces == []
    assert offline.diff(REGISTRATION, "v", inputs, inputs, inputs | {"topologyRequest": more}).replaces == [
        "topologyRequest"
    ]


# -- retries, against a fake Nomad --


def record(volume_id: str, **more: Any) -> dict[str, Any]:
    mode = {"AccessMode": "single-node-writer", "AttachmentMode": "file-system"}
    names = {"ID": volume_id, "Name": volume_id, "Namespace": "default", "PluginID": PLUGIN_ID}
    return names | {"RequestedCapabilities": [mode], **more}


def test_a_registration_waits_for_its_plugin(faked: PluginProcess, server: FakeNomad) -> None:
    server.put(f"plugin/csi/{PLUGIN_ID}", {"Nodes": {"n1": {"Healthy": True}}})
    server.refuse("volume/csi/v", 500, "no CSI plugin named: conformance could be found", times=1, method="PUT")
    volume = faked.create(REGISTRATION, checked(faked, **inputs_for("v")))
    assert volume.id == "v"
    sent = server.sent("volume/csi/v")
    assert len(sent) == 2
    assert sent[0]["Volumes"][0]["AccessMode"] == "single-node-writer"
    assert "no CSI plugin named" in faked.engine.wait_for("waiting for volume v to be accepted by plugin conformance")


def test_a_registration_gives_up_a_minute_before_its_timeout(faked: PluginProcess, server: FakeNomad) -> None:
    inputs = checked(faked, **inputs_for("v"))
    with pytest.raises(
        Failed, match=r"error creating CSI volume: Unexpected response code: 500 .no CSI plugin"
    ) as failed:
        faked.create(REGISTRATION, inputs, timeout_s=ONE_TRY_S)
    assert (len(server.requested("PUT")), failed.value.partial) == (1, None)


@pytest.mark.parametrize(
    "error", ["volume already exists", "requested capacity is out of range", "LimitBytes cannot be less than"]
)
def test_an_error_that_waiting_cannot_cure_is_final(faked: PluginProcess, server: FakeNomad, error: str) -> None:
    server.refuse("volume/csi/v", 500, error)
    with pytest.raises(Failed, match=error):
        faked.create(REGISTRATION, checked(faked, **inputs_for("v")))
    assert len(server.requested("PUT")) == 1


def test_a_token_that_may_not_is_told_at_once(faked: PluginProcess, server: FakeNomad) -> None:
    server.refuse("volume/csi/v", 403, "Permission denied")
    with pytest.raises(Failed, match="Permission denied"):
        faked.create(REGISTRATION, checked(faked, **inputs_for("v")))
    assert server.requests[-1].headers["X-Nomad-Token"] == "a-token"


def test_a_deregistration_is_forced_and_waits_for_the_claims_to_go(faked: PluginProcess, server: FakeNomad) -> None:
    claim = {"ID": "8d4d7bd6-x", "JobID": "mysql", "NodeName": "client-1", "ClientStatus": "running"}
    server.put("volume/csi/v", record("v", Allocations=[claim]))
    server.refuse("volume/csi/v", 500, "volume in use: v", times=2, method="DELETE")
    faked.delete(REGISTRATION, "v", {"namespace": "default"})
    deletions = [asked.query for asked in server.requests if asked.method == "DELETE"]
    assert deletions == [{"force": "true", "namespace": "default"}] * 3
    assert "8d4d7bd6 of job mysql on client-1 (running)" in faked.engine.wait_for("to be released by the allocations")


def test_a_claim_that_stays_is_named_when_time_is_up(faked: PluginProcess, server: FakeNomad) -> None:
    claim = {"ID": "8d4d7bd6-x", "JobID": "mysql", "NodeName": "client-1", "ClientStatus": "running"}
    server.put("volume/csi/v", record("v", Allocations=[claim]))
    server.refuse("volume/csi/v", 500, "volume in use: v", method="DELETE")
    with pytest.raises(
        Failed, match=r"error deregistering CSI volume: Unexpected response code: 500 .volume in use: v"
    ) as failed:
        faked.delete(REGISTRATION, "v", {"namespace": "default"}, timeout_s=SHORT_S)
    assert "claimed by 8d4d7bd6 of job mysql on client-1 (running); stop the job" in failed.value.message
    assert len(server.requested("DELETE")) > 1


@pytest.mark.parametrize("answer", [(404, "volume not found"), (500, "volume not found: v")])
def test_a_volume_that_is_gone_is_an_error_that_names_the_refresh(
    faked: PluginProcess, server: FakeNomad, answer: tuple[int, str]
) -> None:
    server.refuse("volume/csi/v", *answer, method="DELETE")
    with pytest.raises(Failed, match=r"error deregistering CSI volume: .*volume not found") as failed:
        faked.delete(REGISTRATION, "v", {"namespace": "default"}, timeout_s=SHORT_S)
    assert "it is gone: `pulumi refresh` takes it out of the state" in failed.value.message
    assert len(server.requested("DELETE")) > 1


def test_a_volume_that_is_to_stay_registered_is_left_alone(faked: PluginProcess, server: FakeNomad) -> None:
    faked.delete(REGISTRATION, "v", {"namespace": "default", "deregisterOnDestroy": False})
    assert server.requests == []


def test_cancelling_a_retry_takes_a_second(faked: PluginProcess, server: FakeNomad) -> None:
    server.refuse("volume/csi/v", 500, "volume in use: v", method="DELETE")
    thread, outcome = in_background(lambda: faked.delete(REGISTRATION, "v", {"namespace": "default"}))
    faked.engine.wait_for("volume in use")
    cancelled = time.monotonic()
    faked.cancel()
    thread.join(10)
    assert time.monotonic() - cancelled < 1
    assert ["cancelled" in str(one) for one in outcome] == [True]


# -- created volumes --


def test_a_created_volume_is_made_grown_and_deleted_by_its_plugin(faked: PluginProcess, server: FakeNomad) -> None:
    well = {"n1": {"Healthy": True}}
    server.put(f"plugin/csi/{PLUGIN_ID}", {"Controllers": well, "Nodes": well})
    server.after["PUT volume/csi/v/create"] = lambda _: server.change("volume/csi/v", Context={"a": "b"})
    given = {key: value for key, value in inputs_for("v").items() if key != "externalId"}
    inputs = checked(faked, VOLUME, **given, capacityMin="1GiB")
    volume = faked.create(VOLUME, inputs)
    assert (volume["externalId"], volume["context"]) == ("storage-v", {"a": "b"})
    grown = inputs | {"capacityMin": "2GiB"}
    assert faked.diff(VOLUME, "v", volume.outputs.props, inputs, grown).replaces == []
    faked.update(VOLUME, "v", volume.outputs.props, inputs, grown)
    assert server.sent("volume/csi/v/create")[-1]["Volumes"][0]["RequestedCapacityMin"] == 2**31
    for capabilities, replaces in (([READER], []), ([READER, WRITER], ["capabilities"])):
        diff = faked.diff(VOLUME, "v", volume.outputs.props, inputs, inputs | {"capabilities": capabilities})
        assert (diff.changed, diff.replaces) == (True, replaces)
    faked.delete(VOLUME, "v", volume.outputs.props)
    assert server.requested("DELETE") == ["volume/csi/v/delete"]


def test_a_created_volume_is_no_clone_here(offline: PluginProcess) -> None:
    given = {key: value for key, value in inputs_for("v").items() if key != "externalId"}
    assert "cloneId is not an input" in offline.check(VOLUME, given | {"cloneId": "c"}).reasons
