"""The plugin as a whole: secrets, the function, configuration, errors, life and death."""

import json
import string
from pathlib import Path

import pytest

from nomad_stateful.plugin_server.stubs import provider_pb2
from tests.fake_nomad import FakeNomad
from tests.providers.harness import Failed, PluginProcess, plugin_process
from tests.providers.nomad_csi.conftest import EXECUTABLE

SECRET = "nomad-csi:index:GeneratedSecret"


def test_a_generated_secret_is_marked_secret_and_of_the_asked_length(plugin: PluginProcess) -> None:
    made = plugin.create(SECRET, {"length": 40, "keepers": {}})
    assert made.outputs.secrets == {"result"}
    assert len(made["result"]) == 40
    assert set(made["result"]) <= set(string.ascii_letters + string.digits)
    assert made["result"] not in made.id
    assert made["result"] != plugin.create(SECRET, {"length": 40, "keepers": {}})["result"]


MEMBERS = [
    {"Name": "s2.global", "Status": "alive", "Tags": {"build": "1.11.2", "region": "global"}},
    {"Name": "s1.global", "Status": "alive", "Tags": {"build": "1.11.3", "region": "global"}},
    {"Name": "s3.global", "Status": "left", "Tags": {"build": "1.9.0", "region": "global"}},
    {"Name": "s1.europe", "Status": "alive", "Tags": {"build": "1.9.1", "region": "europe"}},
]


def test_get_cluster_tells_zones_of_ready_clients_and_their_drivers(nomad: FakeNomad, plugin: PluginProcess) -> None:
    stub = {"SchedulingEligibility": "eligible", "Datacenter": "dc1", "NodePool": "default"}
    drivers = {"docker": {"Healthy": True}, "exec": {"Healthy": False}}
    down = stub | {"ID": "2", "Name": "b", "Status": "down", "Drivers": None}
    ready = stub | {"ID": "1", "Name": "a", "Status": "ready", "Drivers": drivers}
    collected = stub | {"ID": "3", "Name": "c", "Status": "down"}
    nomad.put("nodes", [collected, down, ready])
    zone = "platform.aws.placement.availability-zone"
    nomad.put(
        "node/1",
        ready
        | {
            "Attributes": {zone: "us-west-2a", "nomad.version": "1.11.0"},
            "NodeResources": {"Cpu": {"CpuShares": 4000}, "Memory": {"MemoryMB": 8000}},
            "ReservedResources": {"Cpu": {"CpuShares": 100}, "Memory": {"MemoryMB": 500}},
        },
    )
    nomad.put("node/2", down | {"Attributes": {zone: "us-west-2b"}})
    nomad.put("agent/members", {"ServerRegion": "global", "Members": MEMBERS})
    cluster = plugin.invoke("nomad-csi:index:getCluster")
    assert (cluster["version"], cluster["zones"]) == ("1.11.2", ["us-west-2a"])
    servers = [{"name": "s1.global", "version": "1.11.3"}, {"name": "s2.global", "version": "1.11.2"}]
    assert cluster["servers"] == servers
    first, second = cluster["nodes"]
    assert (first["drivers"], first["version"]) == (["docker"], "1.11.0")
    assert (first["cpuMhz"], first["memoryMib"]) == (3900, 7500)
    assert (second["zone"], second["status"], second["drivers"]) == ("us-west-2b", "down", [])


def test_an_unreachable_nomad_is_one_sentence_with_the_address() -> None:
    with plugin_process(EXECUTABLE, {"NOMAD_ADDR": "http://127.0.0.1:1"}) as plugin:
        plugin.configure()
        with pytest.raises(Failed) as failed:
            plugin.invoke("nomad-csi:index:getCluster")
    assert failed.value.message.startswith("cannot reach Nomad at http://127.0.0.1:1: ")
    assert "Traceback" not in failed.value.message


def test_without_an_address_secrets_work_and_nomad_is_asked_for_by_name() -> None:
    with plugin_process(EXECUTABLE) as plugin:
        plugin.configure()
        assert plugin.create(SECRET, {"length": 20, "keepers": {}}).id
        with pytest.raises(Failed, match="no Nomad address: set NOMAD_ADDR"):
            plugin.invoke("nomad-csi:index:getCluster")


def test_configuration_is_checked_and_keys_are_kept_secret(plugin: PluginProcess) -> None:
    assert plugin.check_config({"address": "nomad:4646"}).failures[0][0] == "address"
    assert "endpoint is not a setting" in plugin.check_config({"endpoint": "x"}).reasons
    checked = plugin.check_config({"address": "http://x:1", "secretId": "123", "skipVerify": "true", "awsConfig": "{}"})
    assert checked.failures == []
    assert checked.inputs.secrets == {"secretId", "awsConfig"}


def test_the_configured_address_beats_the_environment(nomad: FakeNomad) -> None:
    nomad.put("nodes", [])
    nomad.put("agent/members", {"ServerRegion": "global", "Members": MEMBERS})
    with plugin_process(EXECUTABLE, {"NOMAD_ADDR": "http://127.0.0.1:1"}) as plugin:
        plugin.configure({"address": nomad.address})
        assert plugin.invoke("nomad-csi:index:getCluster")["version"] == "1.11.2"


def test_types_and_functions_it_does_not_have_are_refused_by_name(plugin: PluginProcess) -> None:
    with pytest.raises(Failed, match=r"unrecognized resource type \(Check\): nomad-csi:index:Nope"):
        plugin.check("nomad-csi:index:Nope", {})
    with pytest.raises(Failed, match=r"unrecognized data function \(Invoke\): nomad-csi:index:nope"):
        plugin.invoke("nomad-csi:index:nope")


def test_the_schema_describes_every_property(plugin: PluginProcess) -> None:
    schema = json.loads(plugin.stub.GetSchema(provider_pb2.GetSchemaRequest()).schema)
    assert schema["name"] == "nomad-csi"
    for resource in schema["resources"].values():
        assert resource["description"]
        for key, value in {**resource["inputProperties"], **resource["properties"]}.items():
            assert value["description"].endswith("."), key
    checked = plugin.check("nomad-csi:index:VolumeRelease", {"volumeId": "v", "backend": "none"}).inputs.props
    assert set(checked) == set(schema["resources"]["nomad-csi:index:VolumeRelease"]["inputProperties"])


def test_the_plugin_ends_when_it_is_told_to() -> None:
    with plugin_process(Path(EXECUTABLE)) as plugin:
        plugin.process.terminate()
        assert plugin.process.wait(10) == 0
