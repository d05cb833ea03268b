"""Whether the volumes of a consumer can be unmounted, as VolumeRelease waits for it; over a fake Nomad."""

from typing import Any

import pytest

from nomad_stateful.errors import ProviderError
from nomad_stateful.provider.resources.volume_release import VolumeRelease
from nomad_stateful.waiting import Context
from tests.fake_nomad import FakeNomad
from tests.unit.provider.test_controllers import HEALTHY, INPUTS, STATE

NODE_PLUGIN: dict[str, Any] = {"AllocID": "np-1", "Healthy": True}
CHANGED = INPUTS | {"triggers": {"job": "2"}}


@pytest.fixture
def nomad(nomad: FakeNomad) -> FakeNomad:
    """A consumer whose volume is mounted on client-1, where version 3 of the node plugin's job runs."""
    group = {"Count": 1, "Volumes": {"data": {"Type": "csi", "Source": "data"}}}
    nomad.put("job/db", {"Stop": False, "TaskGroups": [group]})
    claim = {"ID": "a1", "JobID": "db", "NodeID": "n1", "ClientStatus": "running"}
    nomad.put("volume/csi/data", {"PluginID": "ebs", "Allocations": [claim]})
    nomad.put("node/n1", {"Status": "ready", "SchedulingEligibility": "eligible"})
    nomad.put("job/nodes", {"Version": 3, "Stop": False})
    plugin(nomad, NODE_PLUGIN)
    return nomad


@pytest.fixture
def release(nomad: FakeNomad) -> VolumeRelease:
    return VolumeRelease(lambda: nomad.api)


def plugin(nomad: FakeNomad, info: dict[str, Any] | None, version: int = 3) -> None:
    alloc_id = (info or NODE_PLUGIN)["AllocID"]
    stub = {"ID": alloc_id, "JobID": "nodes", "Namespace": "default", "JobVersion": version, "NodeID": "n1"}
    body = {"ID": "ebs", "ControllerRequired": True, "Controllers": {"n2": HEALTHY}, "Allocations": [stub]}
    nomad.put("plugin/csi/ebs", body | {"Nodes": {} if info is None else {"n1": info}})


def test_a_consumer_changes_where_its_client_can_unmount(nomad: FakeNomad, release: VolumeRelease) -> None:
    assert release.update(Context(), "r1", STATE, INPUTS, CHANGED)["releaseId"] == "r1"


@pytest.mark.parametrize("info", [None, {"AllocID": "np-1", "Healthy": False}])
def test_a_consumer_is_left_as_it_is_while_its_client_cannot_unmount(
    nomad: FakeNomad, release: VolumeRelease, info: dict[str, Any] | None
) -> None:
    plugin(nomad, info)
    with pytest.raises(ProviderError, match="node plugin of CSI plugin ebs on client n1 is unhealthy"):
        release.update(Context(), "r1", STATE, INPUTS, CHANGED)


@pytest.mark.parametrize("info", [None, {"AllocID": "np-1", "Healthy": False}])
@pytest.mark.parametrize(("client", "state"), [({}, "ineligible"), ({"Drain": True}, "draining")])
def test_a_client_that_gets_no_other_node_plugin_has_to_unmount_too(
    nomad: FakeNomad, release: VolumeRelease, info: dict[str, Any] | None, client: dict[str, Any], state: str
) -> None:
    nomad.change("node/n1", SchedulingEligibility="ineligible", **client)
    plugin(nomad, info)
    with pytest.raises(ProviderError, match=f"client n1, which is {state} and gets no other, is unhealthy"):
        release.update(Context(), "r1", STATE, INPUTS, CHANGED)


def test_a_consumer_is_left_as_it_is_until_the_node_plugin_has_its_newest_version(
    nomad: FakeNomad, release: VolumeRelease
) -> None:
    nomad.put("job/nodes", {"ID": "nodes", "Version": 4, "Stop": False})
    with pytest.raises(ProviderError, match="on client n1 is being replaced by its job's newest version"):
        release.update(Context(), "r1", STATE, INPUTS, CHANGED)
    plugin(nomad, NODE_PLUGIN | {"AllocID": "np-2"}, version=4)
    assert release.update(Context(), "r1", STATE, INPUTS, CHANGED)["releaseId"] == "r1"


@pytest.mark.parametrize("client", [{"Status": "down"}, {"SchedulingEligibility": "ineligible"}])
def test_a_client_that_gets_no_other_node_plugin_is_not_waited_for(
    nomad: FakeNomad, release: VolumeRelease, client: dict[str, str]
) -> None:
    nomad.put("job/nodes", {"ID": "nodes", "Version": 4, "Stop": False})
    nomad.change("node/n1", **client)
    assert release.update(Context(), "r1", STATE, INPUTS, CHANGED)["releaseId"] == "r1"
