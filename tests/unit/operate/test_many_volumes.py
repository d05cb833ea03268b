"""Stacks of more volumes, and clusters of more clients, than EC2 takes values in the filters of one call."""

from collections.abc import Callable
from typing import Any, cast

import pytest
from moto.ec2.exceptions import EC2ClientError
from moto.ec2.responses._base_response import EC2BaseResponse

from nomad_stateful.ebs.filters import MOST_VALUES, in_batches
from nomad_stateful.ebs.volumes import EbsVolumes
from nomad_stateful.nomad.clients import Client
from nomad_stateful.operate import snapshots, stack
from nomad_stateful.operate.adopt import found
from nomad_stateful.operate.doctor.facts import Facts
from nomad_stateful.operate.metrics import reading
from nomad_stateful.operate.metrics.gauges import Gauges
from nomad_stateful.operate.overview import facts as overview
from sandbox.cloud import account_limits
from sandbox.machine.errors import ApiError
from tests.unit.aws import PLACE, REGION

MANY = 2 * MOST_VALUES + 1
VOLUMES = [f"vol-{number:017x}" for number in range(MANY)]
INSTANCES = [f"i-{number:017x}" for number in range(MANY)]


@pytest.fixture
def ec2(ec2: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """An account with one volume, its snapshot and an instance, whose EC2 refuses what the sandbox's does."""
    original = EC2BaseResponse._filters_from_querystring

    def limited(request: Any) -> Any:
        try:
            return account_limits.filters(original, request)
        except ApiError as error:
            raise EC2ClientError(error.code, error.message) from error

    monkeypatch.setattr(EC2BaseResponse, "_filters_from_querystring", limited)
    volume_id = ec2.create_volume(AvailabilityZone=f"{REGION}a", Size=1)["VolumeId"]
    ec2.create_snapshot(VolumeId=volume_id)
    known = {"volumes": {f"v{number}": {"id": one} for number, one in enumerate([*VOLUMES, volume_id])}}
    monkeypatch.setattr(stack, "outputs", lambda: known)
    monkeypatch.setattr(stack, "aws_place", lambda: PLACE)
    monkeypatch.setattr(stack, "tag", lambda: "project/prod")
    monkeypatch.setattr(stack, "config", dict)
    return ec2


def volume(ec2: Any) -> str:
    return str(ec2.describe_volumes()["Volumes"][0]["VolumeId"])


def _of_overview(ec2: Any) -> int:
    volumes: Any = [type("V", (), {"usage": type("U", (), {"external_id": one})}) for one in [*VOLUMES, volume(ec2)]]
    return len(overview._snapshots(volumes))


def _of_metrics() -> int:
    gauges = Gauges()
    reading._of_ec2(gauges)
    return len(gauges.samples["volume_newest_snapshot_timestamp_seconds"])


def _of_doctor(ec2: Any) -> int:
    asked = Facts.__new__(Facts)
    there = [Client(one, one, "ready", instance_id=one) for one in INSTANCES]
    cast("Any", asked).clients = lambda: there
    cast("Any", asked).ask = lambda _service, operation, **words: getattr(ec2, operation)(**words)
    return len(asked.instances())


QUESTIONS: dict[str, tuple[Callable[[Any], int], int]] = {
    "nomad-stateful metrics": (lambda _ec2: _of_metrics(), 1),
    "nomad-stateful snapshots": (lambda _ec2: len(snapshots.listed_table("").splitlines()), 2),
    "nomad-stateful status": (_of_overview, 1),
    "nomad-stateful adopt: volumes": (lambda ec2: len(EbsVolumes(PLACE).named([*VOLUMES, volume(ec2)])), 1),
    "nomad-stateful adopt: roles": (lambda _ec2: len(found._roles(PLACE, INSTANCES)), 0),
    "nomad-stateful doctor": (_of_doctor, 0),
    "failover, recover": (lambda _ec2: list(EbsVolumes(PLACE).instance_states(INSTANCES).values()).count("x"), 0),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_ec2_is_asked_in_as_many_calls_as_it_takes(ec2: Any, question: str) -> None:
    ask, expected = QUESTIONS[question]
    assert ask(ec2) == expected


def test_a_call_has_as_many_values_as_ec2_takes(ec2: Any) -> None:
    with pytest.raises(Exception, match="FilterLimitExceeded"):
        ec2.describe_volumes(Filters=[{"Name": "volume-id", "Values": VOLUMES[: MOST_VALUES + 1]}])
    batches = list(in_batches("volume-id", VOLUMES))
    assert [len(one[0]["Values"]) for one in batches] == [200, 200, 1]
    assert [value for one in batches for value in one[0]["Values"]] == VOLUMES
    assert list(in_batches("volume-id", [])) == []
