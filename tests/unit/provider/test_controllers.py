"""Whether Nomad attaches and detaches, as VolumeRelease waits for it before its consumer changes; over a fake Nomad."""

from typing import Any

import pytest

from nomad_stateful.errors import ProviderError
from nomad_stateful.provider.resources.volume_release import VolumeRelease
from nomad_stateful.waiting import Context
from tests.fake_nomad import FakeNomad

ATTACHES, SILENT = {"SupportsAttachDetach": True}, {"SupportsAttachDetach": False}
HEALTHY = {"AllocID": "a1", "Healthy": True, "ControllerInfo": ATTACHES}
KILLED = {"AllocID": "8f3c2a1b-0", "Healthy": False, "HealthDescription": "failed fingerprinting"}
INPUTS: dict[str, Any] = {
    "volumeId": "data",
    "namespace": "default",
    "backend": "none",
    "consumerJobId": "db",
    "triggers": {"job": "1"},
    "timeoutS": 0.2,
}
STATE = INPUTS | {"releaseId": "r1"}


@pytest.fixture
def nomad(nomad: FakeNomad) -> FakeNomad:
    group = {"Count": 1, "Volumes": {"data": {"Type": "csi", "Source": "data"}}}
    nomad.put("job/db", {"Stop": False, "TaskGroups": [group]})
    nomad.put("volume/csi/data", {"PluginID": "ebs"})
    return nomad


@pytest.fixture
def release(nomad: FakeNomad) -> VolumeRelease:
    return VolumeRelease(lambda: nomad.api)


def plugin(nomad: FakeNomad, *controllers: dict[str, Any], required: bool = True) -> None:
    known = {f"node-{number}": info for number, info in enumerate(controllers)}
    nomad.put("plugin/csi/ebs", {"ID": "ebs", "ControllerRequired": required, "Controllers": known})


@pytest.mark.parametrize("controllers", [[HEALTHY, KILLED], [KILLED], []])
def test_a_consumer_is_left_as_it_is_while_a_controller_is_unhealthy(
    nomad: FakeNomad, release: VolumeRelease, controllers: list[dict[str, Any]]
) -> None:
    plugin(nomad, *controllers)
    with pytest.raises(ProviderError, match=r"job db is left as it is: after 0 s .*of CSI plugin ebs is ") as failed:
        release.update(Context(), "r1", STATE, INPUTS, INPUTS | {"triggers": {"job": "2"}})
    assert "nomad plugin status -verbose" in str(failed.value)
    with pytest.raises(ProviderError, match="job db is left as it is"):
        release.create(Context(), INPUTS)
    assert nomad.requested("DELETE") == nomad.requested("PUT") == []


@pytest.mark.parametrize(
    ("controllers", "required"),
    [([HEALTHY, HEALTHY], True), ([HEALTHY | {"ControllerInfo": SILENT}, KILLED], True), ([], False)],
)
def test_a_plugin_that_is_healthy_or_attaches_nothing_is_not_waited_for(
    nomad: FakeNomad, release: VolumeRelease, controllers: list[dict[str, Any]], required: bool
) -> None:
    plugin(nomad, *controllers, required=required)
    changed = release.update(Context(), "r1", STATE, INPUTS, INPUTS | {"triggers": {"job": "2"}})
    assert changed["releaseId"] == "r1"


def test_another_volume_of_the_consumer_counts_too(nomad: FakeNomad, release: VolumeRelease) -> None:
    volumes = {name: {"Type": "csi", "Source": name} for name in ("data", "logs")}
    nomad.put("job/db", {"ID": "db", "Stop": False, "TaskGroups": [{"Count": 1, "Volumes": volumes}]})
    nomad.put("volume/csi/logs", {"ID": "logs", "PluginID": "other"})
    plugin(nomad, HEALTHY)
    nomad.put("plugin/csi/other", {"ID": "other", "Controllers": {"node-1": KILLED}})
    with pytest.raises(ProviderError, match="controller of CSI plugin other is unhealthy"):
        release.update(Context(), "r1", STATE, INPUTS, INPUTS | {"triggers": {"job": "2"}})


@pytest.mark.parametrize("news", [{"timeoutS": 0.3}, {"triggers": {"job": "2"}, "consumerJobId": ""}])
def test_what_does_not_change_the_consumer_waits_for_nothing(
    nomad: FakeNomad, release: VolumeRelease, news: dict[str, Any]
) -> None:
    plugin(nomad, KILLED)
    release.update(Context(), "r1", STATE, INPUTS, INPUTS | news)
    assert nomad.requested("GET") == []


def test_a_consumer_that_is_to_go_is_stopped_after_a_while_all_the_same(
    nomad: FakeNomad, release: VolumeRelease
) -> None:
    plugin(nomad, HEALTHY, KILLED)
    release.delete(Context(), "r1", STATE | {"timeoutS": 1})
    assert nomad.requested("DELETE") == ["job/db"]
