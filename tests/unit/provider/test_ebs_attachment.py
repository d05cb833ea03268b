"""EC2's word on whether a volume is detached, against moto."""

from typing import Any

import pytest
from botocore.exceptions import ClientError

from nomad_stateful.ebs.volumes import EbsVolumes
from nomad_stateful.errors import ProviderError
from nomad_stateful.provider.resources import volume_release
from nomad_stateful.provider.resources.volume_release import VolumeRelease
from nomad_stateful.waiting import Context
from tests.fake_nomad import FakeNomad
from tests.unit.aws import PLACE, REGION


def attached_volume(ec2: Any) -> tuple[str, str]:
    """A volume on an instance."""
    instance = ec2.run_instances(ImageId="ami-12c6146b", MinCount=1, MaxCount=1)["Instances"][0]
    zone = instance["Placement"]["AvailabilityZone"]
    volume = ec2.create_volume(AvailabilityZone=zone, Size=1)["VolumeId"]
    ec2.attach_volume(VolumeId=volume, InstanceId=instance["InstanceId"], Device="/dev/xvdaa")
    return volume, instance["InstanceId"]


def test_an_attached_volume_tells_where_and_a_detached_or_missing_one_is_free(ec2: Any) -> None:
    volume, instance = attached_volume(ec2)
    volumes = EbsVolumes(PLACE)
    found = volumes.state(volume)
    assert not found.is_free
    assert str(found).startswith(f"attached to {instance} as /dev/xvdaa (attached since 20")
    volumes.detach(volume, instance)
    assert volumes.state(volume).is_free
    assert volumes.state("vol-00000000000000000").is_free


def test_a_volume_without_claims_that_ec2_still_holds_is_not_released(
    ec2: Any, nomad: FakeNomad, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(volume_release, "EC2_POLL_S", 0.01)
    volume, instance = attached_volume(ec2)
    state = {
        "volumeId": "mysql",
        "backend": "ebs",
        "externalId": volume,
        "region": REGION,
        "timeoutS": 0.1,
        "releaseId": "r",
    }
    release = VolumeRelease(lambda: nomad.api)
    with pytest.raises(ProviderError) as failed:
        release.delete(Context(), "r", state)
    assert f"{volume} is attached to {instance} as /dev/xvdaa (attached since 20" in str(failed.value)
    ec2.detach_volume(VolumeId=volume, InstanceId=instance)
    release.delete(Context(), "r", state)


def test_a_refused_detachment_tells_the_permission_and_the_command(ec2: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(**_: Any) -> None:
        raise ClientError({"Error": {"Code": "UnauthorizedOperation", "Message": "no"}}, "DetachVolume")

    monkeypatch.setattr(ec2, "detach_volume", refused)
    with pytest.raises(ProviderError, match=r"Allow ec2:DetachVolume, or run `aws ec2 detach-volume --volume-id vol-1"):
        EbsVolumes(PLACE).detach("vol-1", "i-1")
