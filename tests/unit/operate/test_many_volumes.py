"""Stacks of more volumes, and clusters of more clients, than EC2 takes values in the filters of one call."""

from collections.abc import Callable, Iterator
from typing import Any, cast

import boto3
import pytest
from moto import mock_aws
from moto.ec2.exceptions import EC2ClientError
from moto.ec2.responses._base_response import EC2BaseResponse

from nomad_stateful.ebs.attachment import EbsVolumes
from nomad_stateful.ebs.ec2_client import AwsPlace
from nomad_stateful.ebs.filters import MOST_VALUES, in_batches
from nomad_stateful.nomad.clients import Client
from operate import listed_snapshots, stack
from operate.adopt import found
from operate.doctor.facts import Facts
from operate.metrics import reading
from operate.overview import facts as overview
from sandbox.cloud import account_limits
from sandbox.machine.errors import ApiError

REGION, MANY = "us-west-2", 2 * MOST_VALUES + 1
PLACE = AwsPlace(REGION, "123456789012")
VOLUMES = [f"vol-{number:017x}" for number in range(MANY)]
INSTANCES = [f"i-{number:017x}" for number in range(MANY)]


@pytest.fixture
def ec2(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """An account with one volume, its snapshot and an instance, whose EC2 refuses what the sandbox's does."""
    for key in ("AWS_ENDPOINT_URL", "AWS_PROFILE", "AWS_CA_BUNDLE", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(key, raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "none")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "none")
    original = EC2BaseResponse._filters_from_querystring

    def limited(request: Any) -> Any:
        try:
            return account_limits.filters(original, request)
        except ApiError as error:
            raise EC2ClientError(error.code, error.message) from error

    monkeypatch.setattr(EC2BaseResponse, "_filters_from_querystring", limited)
    with mock_aws():
        client = boto3.client("ec2", region_name=REGION)
        volume_id = client.create_volume(AvailabilityZone=f"{REGION}a", Size=1)["VolumeId"]
        client.create_snapshot(VolumeId=volume_id)
        known = {"volumes": {f"v{number}": {"id": one} for number, one in enumerate([*VOLUMES, volume_id])}}
        monkeypatch.setattr(stack, "outputs", lambda: known)
        monkeypatch.setattr(stack, "aws_place", lambda: PLACE)
        monkeypatch.setattr(stack, "tag", lambda: "project/prod")
        monkeypatch.setattr(stack, "config", dict)
        yield client


def volume(ec2: Any) -> str:
    return str(ec2.describe_volumes()["Volumes"][0]["VolumeId"])


def _of_overview(ec2: Any) -> int:
    volumes: Any = [type("V", (), {"usage": type("U", (), {"external_id": one})}) for one in [*VOLUMES, volume(ec2)]]
    return len(overview._snapshots(volumes))


def _of_doctor(ec2: Any) -> int:
    asked = Facts.__new__(Facts)
    there = [Client(one, one, "ready", instance_id=one) for one in INSTANCES]
    cast("Any", asked).clients = lambda: there
    cast("Any", asked).ask = lambda _service, operation, **words: getattr(ec2, operation)(**words)
    return len(asked.instances())


QUESTIONS: dict[str, tuple[Callable[[Any], int], int]] = {
    "operate metrics": (lambda ec2: len(list(reading._snapshots([*VOLUMES, volume(ec2)]))), 1),
    "operate snapshots": (lambda _ec2: len(listed_snapshots.table("").splitlines()), 2),
    "operate status": (_of_overview, 1),
    "operate adopt: volumes": (lambda ec2: len(found._ebs_volumes(PLACE, [*VOLUMES, volume(ec2)])), 1),
    "operate adopt: roles": (lambda _ec2: len(found._roles(PLACE, INSTANCES)), 0),
    "operate doctor": (_of_doctor, 0),
    "failover, recover": (lambda _ec2: list(EbsVolumes(PLACE).instance_states(INSTANCES).values()).count("x"), 0),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_ec2_is_asked_in_as_many_calls_as_it_takes(ec2: Any, question: str) -> None:
    ask, expected = QUESTIONS[question]
    assert ask(ec2) == expected


def test_the_limit_is_of_all_filters_of_a_call_together(ec2: Any) -> None:
    with pytest.raises(Exception, match="FilterLimitExceeded"):
        ec2.describe_volumes(Filters=[{"Name": "volume-id", "Values": VOLUMES[: MOST_VALUES + 1]}])
    status = {"Name": "status", "Values": ["available", "in-use"]}
    batches = list(in_batches("volume-id", VOLUMES, status))
    assert [len(one[0]["Values"]) for one in batches] == [198, 198, 5]
    assert [value for one in batches for value in one[0]["Values"]] == VOLUMES
    for filters in batches:
        ec2.describe_volumes(Filters=filters)
    assert list(in_batches("volume-id", [])) == []
