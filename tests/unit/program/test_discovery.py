"""What is found out from the clients' instances."""

import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

from nomad_stateful.ebs.ec2_client import AwsPlace
from nomad_stateful.program.preflight import discovery
from nomad_stateful.program.settings.errors import SettingsError

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


def complete(existing: dict[str, str] | None = None, **changes: Any) -> dict[str, Any]:
    config = {"clientTags": TAGS, "volumes": [], "plugins": [{"id": "one", "driver": "ebs"}], **changes}
    return discovery.complete(config, lambda: AwsPlace(REGION, "123456789012"), lambda: existing or {})


@pytest.fixture
def clients_in_a_and_c(aws: None) -> None:
    ours = profile("clients")
    start("client-1", "us-west-2c", ours)
    start("client-2", "us-west-2a", ours)


def zones(existing: dict[str, str], **volume: Any) -> list[str]:
    """The last letters of the zones of a set's volumes."""
    placed = complete(existing, volumes=[{"name": "data", **volume}])["volumes"][0]["zones"]
    return [zone.removeprefix("us-west-2") for zone in placed]


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
        discovery.complete({"clientTags": TAGS}, lambda: AwsPlace(REGION, "222222222222"), dict)


def test_without_tags_and_sets_nothing_is_asked() -> None:
    config = {"clientRole": "mine", "volumes": [{"name": "one", "zone": "us-west-2a"}]}
    assert discovery.complete(config, pytest.fail, pytest.fail) == config


@pytest.mark.usefixtures("clients_in_a_and_c")
def test_a_zone_that_appears_in_the_middle_moves_nothing_and_gets_the_next_volumes() -> None:
    existing = {"data[0]": "us-west-2a", "data[1]": "us-west-2d", "data[2]": "us-west-2a", "data[3]": "us-west-2d"}
    assert zones(existing, count=4) == ["a", "d", "a", "d"]
    assert zones(existing, count=6) == ["a", "d", "a", "d", "c", "c"]


@pytest.mark.usefixtures("clients_in_a_and_c")
def test_a_volume_stays_in_a_zone_in_which_no_instance_runs() -> None:
    existing = {"data[0]": "us-west-2b", "data[1]": "us-west-2a"}
    assert zones(existing, count=4) == ["b", "a", "c", "a"]


@pytest.mark.usefixtures("clients_in_a_and_c")
def test_zones_that_are_listed_are_for_new_volumes_too() -> None:
    existing = {"data[0]": "us-west-2b", "data[1]": "us-west-2c"}
    listed = ["us-west-2a", "us-west-2b", "us-west-2c"]
    assert zones(existing, count=4, zones=listed) == ["b", "c", "a", "a"]
    # The guard refuses to move one whose zone is listed no more, unless it was never made.
    assert zones(existing, count=2, zones=["us-west-2a", "us-west-2b"]) == ["b", "a"]


def test_a_zone_that_is_listed_twice_gets_twice_as_many() -> None:
    names = [str(number) for number in range(6)]
    assert discovery.spread(names, ["a", "a", "b"], {}) == ["a", "a", "b", "a", "a", "b"]
    assert discovery.spread(names, ["a", "a", "b"], {"0": "a"}) == ["a", "a", "b", "a", "a", "b"]


@pytest.mark.usefixtures("aws")
def test_sets_of_a_driver_that_knows_no_zones_get_none() -> None:
    start("client-1", "us-west-2a", profile("clients"))
    volumes = [{"name": "shared", "count": 2}]
    assert complete(volumes=volumes, plugins=[{"id": "nas", "driver": "hostpath"}])["volumes"] == volumes


def test_what_is_malformed_is_left_to_the_settings() -> None:
    for volumes in (
        "text",
        [{"count": 2}],
        [{"name": "a", "count": 10**9, "zones": ["z"]}],
        [{"count": 2, "zones": 3}],
    ):
        config = {"clientRole": "mine", "volumes": volumes}
        assert discovery.complete(config, pytest.fail, dict) == config


@pytest.mark.usefixtures("aws")
@pytest.mark.parametrize(
    ("existing", "earlier"),
    [
        ({"logs[0]": "us-west-2c", "logs[1]": "us-west-2a"}, {"renamedFrom": "logs"}),
        ({"logs": "us-west-2c"}, {"renamedFrom": "logs"}),
        ({"data": "us-west-2c"}, {}),
        ({"data[0]": "us-west-2c", "logs[0]": "us-west-2a"}, {"renamedFrom": "logs"}),
    ],
)
def test_a_renamed_set_stays_in_its_zones(existing: dict[str, str], earlier: dict[str, str]) -> None:
    ours = profile("clients")
    start("client-1", "us-west-2a", ours)
    start("client-2", "us-west-2c", ours)
    assert zones(existing, count=2, **earlier) == ["c", "a"]
