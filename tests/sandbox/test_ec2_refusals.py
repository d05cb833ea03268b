"""What EC2 and IAM refuse, the local cloud refuses with the same code and status."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from sandbox.cloud.aws_client import client
from sandbox.cloud.daemon import LIMIT_MODIFICATIONS
from tests.sandbox.local_cloud import Cloud, place, running_cloud, spare_volume

pytestmark = [pytest.mark.sandbox, pytest.mark.skipif(os.geteuid() != 0, reason="needs root")]

ZONE = "us-west-2a"
TRUST = json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole"}]})


def document(number: int) -> str:
    """One of many policy documents."""
    statement = {"Effect": "Allow", "Action": "ec2:AttachVolume", "Resource": f"arn:aws:ec2:*:*:volume/vol-{number}"}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    """A cloud that limits modifications as EC2 does."""
    where = place(tmp_path_factory.mktemp("refusals"))
    with running_cloud(*where, {LIMIT_MODIFICATIONS: "1"}) as running:
        yield running


@pytest.fixture(scope="module")
def iam(cloud: Cloud) -> Any:
    return client(cloud.settings, "iam")


@pytest.fixture
def volume(cloud: Cloud) -> Iterator[str]:
    with spare_volume(cloud) as volume_id:
        yield volume_id


def refused(call: Callable[..., Any], **arguments: Any) -> tuple[str, int]:
    """Code and HTTP status of the refusal."""
    with pytest.raises(ClientError) as caught:
        call(**arguments)
    response: Any = caught.value.response
    return str(response["Error"]["Code"]), int(response["ResponseMetadata"]["HTTPStatusCode"])


def volumes(cloud: Cloud) -> set[str]:
    return {one["VolumeId"] for one in cloud.ec2.describe_volumes()["Volumes"]}


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({"AvailabilityZone": "us-west-2z"}, "InvalidZone.NotFound"),
        ({"Size": 0}, "InvalidParameterValue"),
        ({"VolumeType": "gp2", "Size": 16385}, "InvalidParameterValue"),
        ({"VolumeType": "gp2", "Iops": 300}, "InvalidParameterCombination"),
        ({"Size": 10, "Iops": 5001}, "InvalidParameterValue"),
        ({"Size": 100, "Throughput": 751}, "InvalidParameterValue"),
        ({"VolumeType": "io1", "Size": 10}, "MissingParameter"),
        ({"VolumeType": "io1", "Size": 10, "Iops": 501}, "InvalidParameterValue"),
        ({"VolumeType": "io2", "Size": 10, "Iops": 10001}, "InvalidParameterValue"),
        ({"VolumeType": "io2", "Size": 10, "Iops": 100, "Throughput": 125}, "InvalidParameterCombination"),
        ({"VolumeType": "st1", "Size": 124}, "InvalidParameterValue"),
        ({"VolumeType": "sc1", "Size": 16385}, "InvalidParameterValue"),
        ({"VolumeType": "gp9"}, "UnknownVolumeType"),
        ({"KmsKeyId": "alias/a"}, "InvalidParameterDependency"),
        ({"MultiAttachEnabled": True}, "InvalidParameterDependency"),
        ({"SnapshotId": "snap-0123456789abcdef0"}, "InvalidSnapshot.NotFound"),
        ({"TagSpecifications": [{"ResourceType": "volume", "Tags": [{"Key": "k" * 129, "Value": ""}]}]},
         "InvalidParameterValue"),
        ({"TagSpecifications": [{"ResourceType": "volume", "Tags": [{"Key": "aws:a", "Value": ""}]}]},
         "InvalidParameterValue"),
    ],
)  # fmt: skip
def test_a_volume_that_cannot_be_is_refused_and_leaves_none(cloud: Cloud, asked: dict[str, Any], code: str) -> None:
    before = volumes(cloud)
    options = {"AvailabilityZone": ZONE, "Size": 1, "VolumeType": "gp3", **asked}
    assert refused(cloud.ec2.create_volume, **options) == (code, 400)
    assert volumes(cloud) == before


def test_more_storage_of_a_type_than_the_account_may_have_is_refused(cloud: Cloud) -> None:
    large = [cloud.volume(VolumeType="sc1", Size=16000) for _ in range(3)]
    more = {"AvailabilityZone": ZONE, "VolumeType": "sc1"}
    assert refused(cloud.ec2.create_volume, **more, Size=4000) == ("VolumeLimitExceeded", 400)
    small = cloud.volume(VolumeType="sc1", Size=3000)
    assert refused(cloud.ec2.modify_volume, VolumeId=small, Size=3500) == ("VolumeLimitExceeded", 400)
    for volume_id in [*large, small]:
        cloud.ec2.delete_volume(VolumeId=volume_id)


def test_a_call_takes_so_many_values_of_filters_and_no_more(cloud: Cloud) -> None:
    values = [f"vol-{number:017x}" for number in range(201)]
    code, _ = refused(cloud.ec2.describe_volumes, Filters=[{"Name": "volume-id", "Values": values}])
    assert code == "FilterLimitExceeded"
    assert cloud.ec2.describe_volumes(Filters=[{"Name": "volume-id", "Values": values[1:]}])["Volumes"] == []


def test_an_attached_volume_is_neither_attached_again_nor_deleted(cloud: Cloud, volume: str) -> None:
    cloud.attach(volume, "client-1")
    for name in ("client-1", "client-2"):
        again = {"VolumeId": volume, "InstanceId": cloud.instance(name).instance_id, "Device": "/dev/xvdbb"}
        assert refused(cloud.ec2.attach_volume, **again) == ("VolumeInUse", 400)
    assert refused(cloud.ec2.delete_volume, VolumeId=volume) == ("VolumeInUse", 400)
    cloud.ec2.detach_volume(VolumeId=volume)
    assert refused(cloud.ec2.detach_volume, VolumeId=volume) == ("IncorrectState", 400)


def test_a_volume_is_attached_in_its_zone_and_to_a_free_device_only(cloud: Cloud, volume: str) -> None:
    elsewhere = {"VolumeId": volume, "InstanceId": cloud.instance("client-3").instance_id, "Device": "/dev/xvdba"}
    assert refused(cloud.ec2.attach_volume, **elsewhere) == ("InvalidVolume.ZoneMismatch", 400)
    cloud.attach(volume, "client-1", "/dev/xvdba")
    other = cloud.volume()
    taken = {"VolumeId": other, "InstanceId": cloud.instance("client-1").instance_id, "Device": "/dev/xvdba"}
    assert refused(cloud.ec2.attach_volume, **taken) == ("InvalidParameterValue", 400)
    cloud.ec2.delete_volume(VolumeId=other)


def test_an_instance_takes_so_many_volumes_and_no_more(cloud: Cloud) -> None:
    made = [cloud.volume() for _ in range(27)]
    devices = [f"/dev/xvd{first}{last}" for first in "bc" for last in "abcdefghijklmnopqrstuvwxyz"]
    for volume_id, device in zip(made[:26], devices, strict=False):
        cloud.attach(volume_id, "client-2", device)
    one_more = {"VolumeId": made[26], "InstanceId": cloud.instance("client-2").instance_id, "Device": devices[26]}
    assert refused(cloud.ec2.attach_volume, **one_more) == ("AttachmentLimitExceeded", 400)
    for volume_id in made[:26]:
        cloud.ec2.detach_volume(VolumeId=volume_id)
    for volume_id in made:
        cloud.ec2.delete_volume(VolumeId=volume_id)


def test_a_volume_is_modified_four_times_a_day_and_never_shrinks(cloud: Cloud, volume: str) -> None:
    for size in (2, 3, 4, 5):
        cloud.ec2.modify_volume(VolumeId=volume, Size=size)
    assert refused(cloud.ec2.modify_volume, VolumeId=volume, Size=1) == ("InvalidParameterValue", 400)
    assert refused(cloud.ec2.modify_volume, VolumeId=volume, Size=6) == ("VolumeModificationRateExceeded", 400)


def test_a_volume_from_an_encrypted_snapshot_is_encrypted(cloud: Cloud) -> None:
    source = cloud.volume(Encrypted=True)
    snapshot_id = cloud.ec2.create_snapshot(VolumeId=source)["SnapshotId"]
    copy = cloud.volume(SnapshotId=snapshot_id)
    assert cloud.describe(copy)["Encrypted"]
    for volume_id in (source, copy):
        cloud.ec2.delete_volume(VolumeId=volume_id)
    cloud.ec2.delete_snapshot(SnapshotId=snapshot_id)


def test_tags_have_a_length_and_a_number(cloud: Cloud, volume: str) -> None:
    def tag(**tags: str) -> tuple[str, int]:
        pairs = [{"Key": key, "Value": value} for key, value in tags.items()]
        return refused(cloud.ec2.create_tags, Resources=[volume], Tags=pairs)

    assert tag(**{"aws:a": "b"}) == ("InvalidParameterValue", 400)
    assert tag(a="b" * 257) == ("InvalidParameterValue", 400)
    assert tag(**{f"k{number}": "v" for number in range(51)}) == ("TagLimitExceeded", 400)
    assert "Tags" not in cloud.describe(volume)


def test_a_policy_that_is_attached_twice_is_attached_once(iam: Any) -> None:
    arn = iam.create_policy(PolicyName="twice", PolicyDocument=document(0))["Policy"]["Arn"]
    iam.create_role(RoleName="holds-twice", AssumeRolePolicyDocument=TRUST)
    for _ in range(2):
        iam.attach_role_policy(RoleName="holds-twice", PolicyArn=arn)
    assert iam.get_policy(PolicyArn=arn)["Policy"]["AttachmentCount"] == 1
    iam.detach_role_policy(RoleName="holds-twice", PolicyArn=arn)
    iam.delete_policy(PolicyArn=arn)


def test_a_policy_in_use_is_not_deleted_and_has_five_versions(iam: Any) -> None:
    arn = iam.create_policy(PolicyName="p", PolicyDocument=document(0))["Policy"]["Arn"]
    iam.create_role(RoleName="r", AssumeRolePolicyDocument=TRUST)
    iam.attach_role_policy(RoleName="r", PolicyArn=arn)
    assert refused(iam.delete_policy, PolicyArn=arn) == ("DeleteConflict", 409)
    iam.detach_role_policy(RoleName="r", PolicyArn=arn)
    for number in range(1, 5):
        iam.create_policy_version(PolicyArn=arn, PolicyDocument=document(number))
    sixth = {"PolicyArn": arn, "PolicyDocument": document(5)}
    assert refused(iam.create_policy_version, **sixth) == ("LimitExceeded", 409)
    assert refused(iam.delete_policy_version, PolicyArn=arn, VersionId="v1") == ("DeleteConflict", 409)
    assert refused(iam.delete_policy, PolicyArn=arn) == ("DeleteConflict", 409)
    for number in range(2, 6):
        iam.delete_policy_version(PolicyArn=arn, VersionId=f"v{number}")
    iam.delete_policy(PolicyArn=arn)
    assert refused(iam.get_policy, PolicyArn=arn) == ("NoSuchEntity", 404)
    assert refused(iam.get_role, RoleName="nobody") == ("NoSuchEntity", 404)
    assert refused(iam.attach_role_policy, RoleName="nobody", PolicyArn=arn) == ("NoSuchEntity", 404)
