"""What a volume's life looks like when AWS is slow or fails: cases the API server of the other tests never shows."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import botocore.exceptions as boto
import pytest

from nomad_stateful.errors import ProviderError
from nomad_stateful.plugin_server.plugin import InitFailed
from nomad_stateful.waiting import Context
from sandbox.standins.plugins.aws import ec2_volume
from sandbox.standins.plugins.aws.config import parse
from sandbox.standins.plugins.aws.volume import VolumeResource

INPUTS = {"availabilityZone": "us-west-2a", "size": 2, "region": "us-west-2", "tagsAll": {"a": "b"}, "__defaults": []}


class FakeEc2:
    """EC2 with one volume, in the states it is told to go through; the last one stays."""

    def __init__(self, *states: str) -> None:
        self.states = list(states)
        self.requests: list[tuple[str, dict[str, Any]]] = []

    def create_volume(self, **request: Any) -> Any:
        self.requests.append(("create", request))
        return {"VolumeId": "vol-1"}

    def modify_volume(self, **request: Any) -> Any:
        self.requests.append(("modify", request))
        return {}

    def describe_volumes(self, **request: Any) -> Any:
        state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        found = {"VolumeId": "vol-1", "State": state, "Size": 2, "CreateTime": datetime(2026, 1, 1, tzinfo=UTC)}
        return {"Volumes": [found]}


def volumes(ec2: FakeEc2) -> VolumeResource:
    cloud: Any = SimpleNamespace(
        config=parse({"region": "us-west-2"}),
        ec2=lambda region: ec2,
        account_id=lambda: "123456789012",
        arn=lambda service, region, account, resource: f"arn:aws:{service}:{region}:{account}:{resource}",
    )
    return VolumeResource(cloud)


def test_a_creation_is_awaited() -> None:
    ec2 = FakeEc2("creating", "creating", "available")
    made, outputs = volumes(ec2).create(Context(), INPUTS)
    assert made == outputs["id"] == "vol-1"
    ((_, request),) = ec2.requests
    assert request.pop("ClientToken")
    assert request == {
        "AvailabilityZone": "us-west-2a",
        "Size": 2,
        "TagSpecifications": [{"ResourceType": "volume", "Tags": [{"Key": "a", "Value": "b"}]}],
    }


def test_a_new_volume_that_ec2_does_not_list_yet_is_awaited() -> None:
    class Consistent(FakeEc2):
        """Lists the volume from the third time on."""

        def describe_volumes(self, **request: Any) -> Any:
            self.requests.append(("describe", request))
            if len(self.requests) < 4:
                raise boto.ClientError({"Error": {"Code": "InvalidVolume.NotFound"}}, "DescribeVolumes")
            return super().describe_volumes(**request)

    made, outputs = volumes(Consistent("available")).create(Context(), INPUTS)
    assert made == outputs["id"] == "vol-1"


def test_a_new_volume_that_ec2_never_lists_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    class Empty(FakeEc2):
        def describe_volumes(self, **request: Any) -> Any:
            return {"Volumes": []}

    monkeypatch.setattr(ec2_volume, "_NOT_LISTED_S", 0.1)
    with pytest.raises(InitFailed, match="EC2 reports it gone"):
        volumes(Empty()).create(Context(), INPUTS)


def test_a_creation_that_takes_too_long_keeps_the_volume() -> None:
    with pytest.raises(InitFailed, match="timeout") as failed:
        volumes(FakeEc2("creating")).create(Context(timeout_s=0.01), INPUTS)
    assert failed.value.id == "vol-1"
    assert failed.value.outputs["arn"] == "arn:aws:ec2:us-west-2:123456789012:volume/vol-1"
    assert failed.value.outputs["size"] == 2
    assert failed.value.inputs == INPUTS


def test_a_cancelled_creation_keeps_the_volume() -> None:
    cancelled = threading.Event()
    threading.Timer(0.2, cancelled.set).start()
    with pytest.raises(InitFailed, match="cancelled") as failed:
        volumes(FakeEc2("creating")).create(Context(cancelled=cancelled), INPUTS)
    assert failed.value.id == "vol-1"


def test_an_update_without_a_difference_only_waits_for_the_volume() -> None:
    ec2 = FakeEc2("creating", "available")
    outputs = volumes(ec2).update(Context(), "vol-1", INPUTS, INPUTS, INPUTS)
    assert outputs["id"] == "vol-1"
    assert ec2.requests == []


def test_a_volume_in_error_says_so() -> None:
    with pytest.raises(InitFailed, match="EC2 reports it error"):
        volumes(FakeEc2("error")).create(Context(), INPUTS)


def test_a_modification_is_not_awaited_and_may_not_show_yet() -> None:
    """As the official plugin does: it waits for the volume's state, which a modification does not change."""
    ec2 = FakeEc2("in-use")
    outputs = volumes(ec2).update(Context(), "vol-1", INPUTS, INPUTS, INPUTS | {"size": 4})
    assert ec2.requests == [("modify", {"VolumeId": "vol-1", "Size": 4})]
    assert outputs["size"] == 2


@pytest.mark.parametrize(
    ("state", "inputs", "request_"),
    [
        ({"type": "gp2", "size": 2, "iops": 100}, {"type": "gp3", "size": 2}, {"VolumeType": "gp3"}),
        (
            {"type": "gp3", "iops": 4000},
            {"type": "io2", "iops": 4000},
            {"VolumeType": "io2", "Iops": 4000},
        ),
        ({"type": "gp3", "throughput": 250}, {"type": "gp2"}, {"VolumeType": "gp2"}),
    ],
)
def test_a_new_type_brings_its_own_performance_unless_the_program_sets_it(
    state: dict[str, Any], inputs: dict[str, Any], request_: dict[str, Any]
) -> None:
    ec2 = FakeEc2("available")
    volumes(ec2).update(Context(), "vol-1", INPUTS | state, INPUTS, INPUTS | inputs)
    assert ec2.requests == [("modify", {"VolumeId": "vol-1", **request_})]


def test_a_deletion_that_aws_forbids_fails_at_once() -> None:
    class Forbidding(FakeEc2):
        def delete_volume(self, **request: Any) -> Any:
            raise boto.ClientError({"Error": {"Code": "UnauthorizedOperation", "Message": "no"}}, "DeleteVolume")

    with pytest.raises(ProviderError, match=r"deleting EBS Volume \(vol-1\): UnauthorizedOperation: no"):
        volumes(Forbidding("available")).delete(Context(), "vol-1", INPUTS)
