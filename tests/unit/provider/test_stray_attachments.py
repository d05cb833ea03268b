"""A volume that Nomad left attached where nothing claims it: JobHealth and VolumeRelease detach it, or name it."""

import re
from typing import Any

import pytest

from nomad_stateful.ebs.volumes import EbsVolumes
from nomad_stateful.errors import ProviderError
from nomad_stateful.nomad.api import NomadNotFound
from nomad_stateful.provider.resources import job_health, volume_release
from nomad_stateful.provider.resources.job_health import JobHealth
from nomad_stateful.provider.resources.volume_release import VolumeRelease
from nomad_stateful.recovery.volume_usage import inspect_volume
from nomad_stateful.waiting import Context
from tests.fake_nomad import FakeNomad
from tests.unit.aws import DENIED, PLACE, answers, asked, have_instance, have_volume

VOLUME, OLD, NEW = "vol-0123456789abcdef0", "i-0a", "i-0b"
WHERE = rf"attached to {OLD} as /dev/xvdaa \(attached since [^)]+\), where nothing claims it"
DETACH = f"aws ec2 detach-volume --volume-id {VOLUME} --instance-id {OLD}"
INPUTS: dict[str, Any] = {
    "jobId": "db",
    "namespace": "default",
    "group": "g",
    "triggers": {},
    "accountId": "123456789012",
    "region": "us-west-2",
    "timeoutS": 1,
}
RELEASE = {"volumeId": "data", "backend": "ebs", "externalId": VOLUME, "timeoutS": 2, "releaseId": "r"} | {
    key: INPUTS[key] for key in ("accountId", "region")
}
DETACHED = [{"VolumeId": VOLUME, "InstanceId": OLD}]


@pytest.fixture
def detachments(ec2: Any) -> list[dict[str, Any]]:
    """What EC2 is asked to detach. It has one volume, attached to the instance that the job has left."""
    for instance_id in (OLD, NEW):
        have_instance(ec2, instance_id)
    have_volume(ec2, VOLUME, OLD)
    return asked(ec2, "DetachVolume")


@pytest.fixture
def nomad(nomad: FakeNomad, monkeypatch: pytest.MonkeyPatch) -> FakeNomad:
    """The job's allocation waits on another client than the volume is attached to, after its deployment failed."""
    monkeypatch.setattr(job_health, "_SLOW_S", 0.0)
    monkeypatch.setattr(volume_release, "STRAY_S", 0.0)
    monkeypatch.setattr(volume_release, "EC2_POLL_S", 0.01)
    group = {"Count": 1, "Volumes": {"data": {"Type": "csi", "Source": "data"}}}
    nomad.put("job/db", {"Version": 3, "Stop": False, "TaskGroups": [group]})
    waiting = {"ID": "8f3c2a1b-0", "JobID": "db", "NodeName": "client-2", "TaskGroup": "g", "JobVersion": 3}
    waiting |= {"CreateIndex": 9, "ClientStatus": "pending", "NodeID": "new"}
    nomad.put("job/db/allocations", [waiting | {"DesiredStatus": "run", "TaskStates": {}}])
    claims = {"Allocations": [waiting], "WriteAllocs": {"8f3c2a1b-0": None}}
    nomad.put("volume/csi/data", {"PluginID": "ebs", "ExternalID": VOLUME} | claims)
    for node_id, instance in (("old", OLD), ("new", NEW)):
        nomad.put(f"node/{node_id}", client(node_id, instance))
    return nomad


def client(node_id: str, instance: str, message: str = "Unmount volume") -> dict[str, Any]:
    return {
        "ID": node_id,
        "Name": f"client-{node_id}",
        "Status": "ready",
        "Attributes": {"unique.platform.aws.instance-id": instance},
        "CSINodePlugins": {"ebs": {"Healthy": True, "NodeInfo": {"ID": instance}}},
        "Events": [{"Message": message, "Details": {"volume_id": "data", "success": "true"}}],
    }


def wait(nomad: FakeNomad, **inputs: Any) -> str:
    """What JobHealth says when the allocation does not become healthy."""
    with pytest.raises(ProviderError, match="db has no healthy allocation") as failed:
        JobHealth(lambda: nomad.api).create(Context(), INPUTS | inputs)
    return str(failed.value)


def test_a_job_that_waits_for_its_volume_gets_it_from_where_nothing_claims_or_uses_it(
    nomad: FakeNomad, detachments: Any
) -> None:
    said = wait(nomad)
    assert detachments == DETACHED
    assert "where nothing claims it" not in said, "nothing is left to be done about it"


def test_what_may_be_mounted_is_left_and_named_with_the_command(nomad: FakeNomad, detachments: Any) -> None:
    nomad.put("node/old", client("old", OLD, message="Mount volume"))
    said = wait(nomad)
    assert detachments == []
    assert re.search(rf"{VOLUME} is {WHERE}; the instance is running\. Next: `{DETACH}`", said)


@pytest.mark.usefixtures("detachments")
def test_a_refused_detachment_leaves_the_command_in_the_message(nomad: FakeNomad, ec2: Any) -> None:
    with answers(ec2, "DetachVolume", DENIED):
        said = wait(nomad)
    assert f"Next: `{DETACH}`" in said


def test_without_an_account_ec2_is_not_asked(nomad: FakeNomad, detachments: Any) -> None:
    wait(nomad, accountId="")
    assert detachments == []


def test_a_volume_in_use_by_the_job_is_left_alone(nomad: FakeNomad, detachments: Any) -> None:
    nomad.put("node/new", client("new", OLD))
    nomad.put("node/old", client("old", NEW))
    wait(nomad)
    assert detachments == []


@pytest.mark.usefixtures("detachments")
def test_where_nomad_has_no_list_of_clients_it_is_not_said_that_no_client_has_the_volume(nomad: FakeNomad) -> None:
    nomad.put("nodes", None)
    with pytest.raises(NomadNotFound):
        inspect_volume(nomad.api, "default", "data", VOLUME, EbsVolumes(PLACE))


def test_a_destroy_detaches_what_nomad_left_attached(nomad: FakeNomad, detachments: Any) -> None:
    nomad.put("volume/csi/data", {"ID": "data", "PluginID": "ebs", "Allocations": [], "WriteAllocs": {}})
    VolumeRelease(lambda: nomad.api).delete(Context(), "r", RELEASE)
    assert detachments == DETACHED
