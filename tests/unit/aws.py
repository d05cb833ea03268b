"""An account of moto's, by the program's own client of EC2, and what EC2 may answer where moto does not."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from moto import mock_aws
from moto.backends import get_backend

from nomad_stateful.ebs.ec2_client import AwsPlace, ec2_client
from nomad_stateful.ebs.tags import listed

REGION = "us-west-2"
PLACE = AwsPlace(REGION, "123456789012")
THROTTLED, DENIED, UNLISTED = "RequestLimitExceeded", "UnauthorizedOperation", "unlisted"


@contextmanager
def account() -> Iterator[Any]:
    """A context in which there is nothing in AWS but what is made there; gives EC2's client of PLACE."""
    with pytest.MonkeyPatch.context() as patched:
        for key in ("AWS_ENDPOINT_URL", "AWS_PROFILE", "AWS_CA_BUNDLE", "AWS_REGION", "AWS_DEFAULT_REGION"):
            patched.delenv(key, raising=False)
        patched.setenv("AWS_ACCESS_KEY_ID", "none")
        patched.setenv("AWS_SECRET_ACCESS_KEY", "none")
        with mock_aws():
            yield ec2_client(PLACE)


@contextmanager
def answers(ec2: Any, operation: str, *codes: str) -> Iterator[list[str]]:
    """A context in which EC2's next answers to an operation are errors of these codes; gives those that are left.

    "" is moto's own answer. UNLISTED is that of an EC2 that does not have yet what was made just now: an error where
    it is named, nothing where it is filtered for.
    """
    left = list(codes)

    def answer(params: Any, **_: Any) -> Any:
        code = left.pop(0) if left else ""
        if code == UNLISTED:
            kind = operation.removeprefix("Describe")
            if not any(key.startswith(f"{kind.removesuffix('s')}Id.") for key in params["body"]):
                return SimpleNamespace(status_code=200), {kind: []}
            code = f"Invalid{kind.removesuffix('s')}.NotFound"
        error = {"Error": {"Code": code, "Message": "as told"}, "ResponseMetadata": {"HTTPStatusCode": 400}}
        return (SimpleNamespace(status_code=400), error) if code else None

    with handlers(ec2, {f"before-call.ec2.{operation}": answer}):
        yield left


@contextmanager
def empty_first_pages(ec2: Any) -> Iterator[None]:
    """A context in which the first page of each answer to a filter is empty, as EC2 may have it."""

    def begin(params: Any, context: Any, **_: Any) -> None:
        is_filtered = any(key.startswith("Filter.") for key in params["body"])
        context["cut"] = params["body"].pop("NextToken", "") != "more" and is_filtered

    def cut(parsed: Any, context: Any, **_: Any) -> None:
        for kind in {"Volumes", "Snapshots", "Reservations"} & set(parsed) if context["cut"] else ():
            parsed |= {kind: [], "NextToken": "more"}

    with handlers(ec2, {"before-call.ec2": begin, "after-call.ec2": cut}):
        yield


@contextmanager
def handlers(ec2: Any, by_event: dict[str, Any]) -> Iterator[None]:
    """A context in which botocore calls these, each at its event."""
    for event, handler in by_event.items():
        ec2.meta.events.register(event, handler)
    try:
        yield
    finally:
        for event, handler in by_event.items():
            ec2.meta.events.unregister(event, handler)


def have_instance(ec2: Any, instance_id: str, state: str = "running") -> None:
    """Has an instance of this id, in a state that moto may pass over; a second call changes the state.

    What is not-found is gone, though a volume may be on it still.
    """
    if state == "not-found":
        for held in _backend().reservations.values():
            held.instances = [one for one in held.instances if one.id != instance_id]
        return
    known = {one.id: one for held in _backend().reservations.values() for one in held.instances}
    if instance_id not in known:
        made = ec2.run_instances(ImageId="ami-12c6146b", MinCount=1, MaxCount=1)["Instances"][0]["InstanceId"]
        known[instance_id] = _backend().get_instance(made)
        known[instance_id].id = instance_id
    known[instance_id]._state.name = state


def have_volume(ec2: Any, volume_id: str, instance_id: str = "", attachment: str = "attached") -> None:
    """Has a volume of this id, free or on an instance: attached, or as moto never says of one, busy or detaching."""
    volumes = _backend().volumes
    if volume_id not in volumes:
        made = volumes.pop(ec2.create_volume(AvailabilityZone=f"{REGION}a", Size=1)["VolumeId"])
        made.id = volume_id
        volumes[volume_id] = made
    if instance_id and volumes[volume_id].attachment is None:
        ec2.attach_volume(VolumeId=volume_id, InstanceId=instance_id, Device="/dev/xvdaa")
    if instance_id:
        volumes[volume_id].attachment.status = attachment


def made_volume(ec2: Any, tags: Mapping[str, str] | None = None, *, zone: str = f"{REGION}a", **more: Any) -> str:
    """Makes a volume of 2 GiB, free, in a zone; its id."""
    given = {"AvailabilityZone": zone, "Size": 2, **_specified("volume", tags or {}), **more}
    return str(ec2.create_volume(**given)["VolumeId"])


def made_snapshot(ec2: Any, volume_id: str, tags: Mapping[str, str] | None = None) -> str:
    """Takes a snapshot; its id."""
    return str(ec2.create_snapshot(VolumeId=volume_id, **_specified("snapshot", tags or {}))["SnapshotId"])


def snapshots_of(ec2: Any, volume_id: str) -> list[str]:
    """The ids of a volume's snapshots."""
    found = ec2.describe_snapshots(Filters=[{"Name": "volume-id", "Values": [volume_id]}])["Snapshots"]
    return [one["SnapshotId"] for one in found]


def _specified(kind: str, tags: Mapping[str, str]) -> dict[str, Any]:
    return {"TagSpecifications": [{"ResourceType": kind, "Tags": listed(tags)}]} if tags else {}


def asked(ec2: Any, operation: str) -> list[dict[str, Any]]:
    """Gives a list of the parameters of each later request of this operation."""
    requests: list[dict[str, Any]] = []
    ec2.meta.events.register(f"provide-client-params.ec2.{operation}", lambda params, **_: requests.append(params))
    return requests


def _backend() -> Any:
    return get_backend("ec2")[PLACE.account_id][REGION]
