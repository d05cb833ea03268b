"""Client tokens on the local cloud: what a request that is sent twice makes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from sandbox.machine import ami
from tests.sandbox import local_cloud
from tests.sandbox.local_cloud import Cloud, until

pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root"),
]
MISMATCH = "IdempotentParameterMismatch"


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    with local_cloud.running_cloud(*local_cloud.place(tmp_path_factory.mktemp("tokens"))) as running:
        yield running


def tagged(resource: str, **tags: str) -> list[dict[str, Any]]:
    return [{"ResourceType": resource, "Tags": [{"Key": key, "Value": value} for key, value in tags.items()]}]


def refused(call: Callable[..., Any], **arguments: Any) -> str:
    with pytest.raises(ClientError) as caught:
        call(**arguments)
    return str(caught.value.response["Error"]["Code"])


def test_a_volume_is_made_once(cloud: Cloud) -> None:
    request: dict[str, Any] = {"AvailabilityZone": "us-west-2a", "Size": 1, "VolumeType": "gp3", "ClientToken": "t"}
    create = cloud.ec2.create_volume
    first = create(**request, TagSpecifications=tagged("volume", Name="data", team="a"))["VolumeId"]
    # The EBS driver sends its tags in any order.
    assert create(**request, TagSpecifications=tagged("volume", team="a", Name="data"))["VolumeId"] == first
    assert refused(create, **request, TagSpecifications=tagged("volume", Name="data", team="b")) == MISMATCH
    assert refused(create, **request) == MISMATCH
    assert refused(create, **request | {"Size": 2}, TagSpecifications=tagged("volume", Name="data", team="a")) == (
        MISMATCH
    )
    assert {tag["Key"]: tag["Value"] for tag in cloud.describe(first)["Tags"]} == {"Name": "data", "team": "a"}
    cloud.ec2.delete_volume(VolumeId=first)


def test_an_instance_is_launched_once(cloud: Cloud) -> None:
    name = f"{cloud.settings.name}-us-west-2a"
    subnet = cloud.ec2.describe_subnets(Filters=[{"Name": "tag:Name", "Values": [name]}])["Subnets"][0]
    request: dict[str, Any] = {"ImageId": ami.IMAGE_ID, "MinCount": 1, "MaxCount": 1, "ClientToken": "launch"}
    request |= {"SubnetId": subnet["SubnetId"], "UserData": "exec sleep 100000\n"}
    (first,) = cloud.ec2.run_instances(**request)["Instances"]
    (second,) = cloud.ec2.run_instances(**request)["Instances"]
    assert first["InstanceId"] == second["InstanceId"]
    assert refused(cloud.ec2.run_instances, **request, TagSpecifications=tagged("instance", Name="x")) == MISMATCH
    cloud.ec2.terminate_instances(InstanceIds=[first["InstanceId"]])
    gone = [{"Name": "instance-state-name", "Values": ["terminated"]}]
    until(
        lambda: bool(
            cloud.ec2.describe_instances(InstanceIds=[first["InstanceId"]], Filters=gone)["Reservations"],
        )
    )


def test_an_access_point_is_made_once(cloud: Cloud) -> None:
    efs: Any = cloud.client("efs")
    file_system = efs.create_file_system(CreationToken="shared")["FileSystemId"]
    request = {"ClientToken": "reports", "FileSystemId": file_system, "RootDirectory": {"Path": "/reports"}}
    efs.create_access_point(**request)
    assert refused(efs.create_access_point, **request) == "AccessPointAlreadyExists"
    assert len(efs.describe_access_points(FileSystemId=file_system)["AccessPoints"]) == 1
    assert refused(efs.create_file_system, CreationToken="shared") == "FileSystemAlreadyExists"
    efs.close()
