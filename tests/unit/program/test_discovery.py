"""What is found out from the clients' instances."""

import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

import discovery
from provider.ec2_client import AwsPlace
from settings.errors import SettingsError

REGION = "us-west-2"
TAGS = {"Name": "client-*"}


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    for name in ("AWS_ENDPOINT_URL", "AWS_PROFILE", "AWS_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
    with mock_aws():
        yield


def profile(role: str) -> str:
    iam = boto3.client("iam", region_name=REGION)
    iam.create_role(RoleName=role, AssumeRolePolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": []}))
    iam.create_instance_profile(InstanceProfileName=f"{role}-profile")
    iam.add_role_to_instance_profile(InstanceProfileName=f"{role}-profile", RoleName=role)
    return f"{role}-profile"


def start(name: str, zone: str, instance_profile: str) -> None:
    boto3.client("ec2", region_name=REGION).run_instances(
        MinCount=1,
        MaxCount=1,
        ImageId="ami-12c6146b",
        Placement={"AvailabilityZone": zone},
        IamInstanceProfile={"Name": instance_profile},
        TagSpecifications=[{"ResourceType": "instance", "Tags": [{"Key": "Name", "Value": name}]}],
    )


def complete(**changes: Any) -> dict[str, Any]:
    return discovery.complete({"clientTags": TAGS, "volumes": [], **changes}, lambda: AwsPlace(REGION, "123456789012"))


@pytest.mark.usefixtures("aws")
def test_role_and_zones_come_from_the_instances_that_carry_the_tags() -> None:
    ours, other = profile("clients"), profile("others")
    start("client-1", "us-west-2b", ours)
    start("client-2", "us-west-2a", ours)
    start("bastion", "us-west-2c", other)
    found = complete(volumes=[{"name": "data", "count": 2}, {"name": "one", "zone": "us-west-2a"}])
    assert found["clientRole"] == "clients"
    assert found["volumes"] == [
        {"name": "data", "count": 2, "zones": ["us-west-2a", "us-west-2b"]},
        {"name": "one", "zone": "us-west-2a"},
    ]


@pytest.mark.usefixtures("aws")
def test_what_is_set_wins_over_what_is_found() -> None:
    start("client-1", "us-west-2b", profile("clients"))
    found = complete(clientRole="mine", volumes=[{"name": "data", "count": 1, "zones": ["us-west-2c"]}])
    assert found["clientRole"] == "mine"
    assert found["volumes"][0]["zones"] == ["us-west-2c"]


@pytest.mark.usefixtures("aws")
def test_tags_that_no_instance_carries_are_refused() -> None:
    with pytest.raises(SettingsError, match=r"clientTags is Name=client-\*: no running instance has these tags"):
        complete()


@pytest.mark.usefixtures("aws")
def test_instances_of_two_roles_are_refused_by_name() -> None:
    start("client-1", "us-west-2a", profile("one"))
    start("client-2", "us-west-2a", profile("two"))
    with pytest.raises(SettingsError, match=r"2 roles \(one, two\)"):
        complete()


@pytest.mark.usefixtures("aws")
def test_clients_are_not_looked_for_in_another_account_than_the_aws_providers() -> None:
    with pytest.raises(
        SettingsError, match="the aws provider is in account 222222222222, but these credentials are of 1"
    ):
        discovery.complete({"clientTags": TAGS}, lambda: AwsPlace(REGION, "222222222222"))


def test_without_tags_nothing_is_asked() -> None:
    assert discovery.complete({"clientRole": "mine"}, pytest.fail) == {"clientRole": "mine"}
