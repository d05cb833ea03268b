"""The readers of EBS volumes and snapshots, and an EC2 that refuses, or answers in pages."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from nomad_stateful.ebs import snapshots
from nomad_stateful.ebs.ec2_client import Ec2Unavailable
from nomad_stateful.ebs.snapshots import EbsSnapshots, Snapshot
from nomad_stateful.ebs.tags import AS_OF_TAG, FINAL_TAG, GUARD_TAG, STACK_TAG
from nomad_stateful.ebs.volumes import EbsVolumes
from nomad_stateful.errors import ProviderError
from nomad_stateful.waiting import Context, Progress
from tests.unit.aws import DENIED, PLACE, REGION, THROTTLED, answers, empty_first_pages, handlers

Ids = dict[str, str]
TAGS = {"Name": "mysql", GUARD_TAG: "g1", STACK_TAG: "shop/prod"}

READS: dict[str, tuple[Callable[[Ids], Any], str]] = {
    "a volume by its id": (lambda ids: [EbsVolumes(PLACE).state(ids["volume"]).id], "volume"),
    "a guard's volume": (lambda _ids: [getattr(EbsVolumes(PLACE).guarded_by("g1"), "id", "")], "volume"),
    "volumes by a tag": (lambda _ids: [one.id for one in EbsVolumes(PLACE).tagged({STACK_TAG: "shop/prod"})], "volume"),
    "volumes by ids": (lambda ids: list(EbsVolumes(PLACE).named([ids["volume"]])), "volume"),
    "an instance's volumes": (
        lambda ids: set(EbsVolumes(PLACE).attached_to(ids["instance"])) & {ids["volume"]},
        "volume",
    ),
    "instances": (
        lambda ids: [
            one for one, state in EbsVolumes(PLACE).instance_states([ids["instance"]]).items() if state == "running"
        ],
        "instance",
    ),
    "a snapshot by its id": (lambda ids: [getattr(EbsSnapshots(PLACE).find(ids["snapshot"]), "id", "")], "snapshot"),
    "a volume's snapshots": (
        lambda ids: [one.id for one in EbsSnapshots(PLACE).of_volume(ids["volume"])],
        "snapshot",
    ),
    "a name's snapshots": (
        lambda _ids: [one.id for one in EbsSnapshots(PLACE).of_name("mysql", "shop/prod")],
        "snapshot",
    ),
    "final snapshots": (lambda ids: [one.id for one in EbsSnapshots(PLACE).final_of(ids["volume"])], "snapshot"),
}


def tagged(kind: str, **more: str) -> list[dict[str, Any]]:
    both = TAGS | more
    return [{"ResourceType": kind, "Tags": [{"Key": key, "Value": value} for key, value in both.items()]}]


@pytest.fixture
def ids(ec2: Any) -> Ids:
    """A guarded volume on an instance, and its final snapshot."""
    instance = ec2.run_instances(ImageId="ami-12c6146b", MinCount=1, MaxCount=1)["Instances"][0]
    zone = instance["Placement"]["AvailabilityZone"]
    volume = ec2.create_volume(AvailabilityZone=zone, Size=1, TagSpecifications=tagged("volume"))["VolumeId"]
    ec2.attach_volume(VolumeId=volume, InstanceId=instance["InstanceId"], Device="/dev/xvdaa")
    final = tagged("snapshot", **{FINAL_TAG: volume})
    snapshot = ec2.create_snapshot(VolumeId=volume, TagSpecifications=final)["SnapshotId"]
    return {"instance": instance["InstanceId"], "volume": volume, "snapshot": snapshot}


@pytest.mark.parametrize("read", list(READS))
def test_what_is_on_a_later_page_is_read_too(ec2: Any, ids: Ids, read: str) -> None:
    ask, expected = READS[read]
    with empty_first_pages(ec2):
        assert list(ask(ids)) == [ids[expected]]


CALLS: dict[str, Callable[[], Any]] = {
    "DescribeVolumes": lambda: EbsVolumes(PLACE).state("vol-1"),
    "DescribeInstances": lambda: EbsVolumes(PLACE).instance_states(["i-1"]),
    "StopInstances": lambda: EbsVolumes(PLACE).stop_instances(["i-1"]),
    "DetachVolume": lambda: EbsVolumes(PLACE).detach("vol-1", "i-1"),
    "CreateVolume": lambda: EbsVolumes(PLACE).create_like(None, f"{REGION}a", {}, size_gib=1),
    "CreateTags": lambda: EbsVolumes(PLACE).tag("vol-1", {"a": "b"}),
    "DeleteVolume": lambda: EbsVolumes(PLACE).delete("vol-1"),
    "DescribeSnapshots": lambda: EbsSnapshots(PLACE).of_volumes(["vol-1"]),
    "CreateSnapshot": lambda: EbsSnapshots(PLACE).begin("vol-1", "", {"a": "b"}),
    "DeleteSnapshot": lambda: EbsSnapshots(PLACE).delete("snap-1"),
}


def error_of(ec2: Any, operation: str, code: str, call: Callable[[], Any]) -> ProviderError:
    with answers(ec2, operation, code), pytest.raises(ProviderError) as failed:
        call()
    return failed.value


@pytest.mark.parametrize("operation", list(CALLS))
def test_the_action_that_is_missing_is_named_where_one_is_and_nowhere_else(ec2: Any, operation: str) -> None:
    denied = error_of(ec2, operation, DENIED, CALLS[operation])
    assert f". Allow ec2:{operation}" in str(denied)
    assert "Allow" not in str(error_of(ec2, operation, "InvalidParameterValue", CALLS[operation]))
    throttled = error_of(ec2, operation, THROTTLED, CALLS[operation])
    assert isinstance(throttled, Ec2Unavailable)
    assert "Allow" not in str(throttled)


@pytest.mark.parametrize("operation", ["DescribeInstances", "DescribeVolumes"])
def test_of_several_actions_the_one_that_is_missing_is_named(ec2: Any, operation: str) -> None:
    denied = error_of(ec2, operation, DENIED, EbsVolumes(PLACE).refuse_unreadable)
    assert str(denied).endswith(f". Allow ec2:{operation}")


def test_of_a_guards_volumes_the_one_that_was_made_counts(ec2: Any) -> None:
    failed, made = (
        str(ec2.create_volume(AvailabilityZone=f"{REGION}a", Size=1, TagSpecifications=tagged("volume"))["VolumeId"])
        for _ in range(2)
    )

    def fail(parsed: Any, **_: Any) -> None:
        for one in parsed["Volumes"]:
            one["State"] = "error" if one["VolumeId"] == failed else one["State"]

    with handlers(ec2, {"after-call.ec2.DescribeVolumes": fail}):
        found = EbsVolumes(PLACE).guarded_by("g1")
    assert found is not None
    assert found.id == made


def waited(snapshot_id: str) -> None:
    EbsSnapshots(PLACE).await_complete(Progress(Context(), 30), snapshot_id, "Wait longer")


def test_a_snapshot_that_was_deleted_meanwhile_is_not_waited_for(
    ec2: Any, ids: Ids, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "_UNLISTED_S", 0.0)
    monkeypatch.setattr(snapshots, "POLL_S", 0.01)
    ec2.delete_snapshot(SnapshotId=ids["snapshot"])
    with pytest.raises(ProviderError, match=rf"^snapshot {ids['snapshot']} is gone: .*Run the same command again"):
        waited(ids["snapshot"])


def test_ec2_looks_for_a_snapshot_among_the_accounts_own_or_by_its_id(ec2: Any, ids: Ids) -> None:
    asked: list[set[str]] = []

    def note(params: Any, **_: Any) -> None:
        asked.append(set(params["body"]) & {"Owner.1", "SnapshotId.1"})

    with handlers(ec2, {"before-call.ec2.DescribeSnapshots": note}):
        waited(ids["snapshot"])
        EbsSnapshots(PLACE).find(ids["snapshot"])
        EbsSnapshots(PLACE).of_volume(ids["volume"], ids["snapshot"])
    assert asked
    assert all(asked)


def test_a_snapshot_that_is_not_there_is_found_by_nobody(ec2: Any) -> None:
    assert EbsSnapshots(PLACE).find("snap-0123456789abcdef0") is None


def test_the_newest_has_the_newest_data_whenever_it_was_begun() -> None:
    def begun(hour: int, **more: str) -> Snapshot:
        return Snapshot(f"snap-{hour}", "vol-1", "completed", datetime(2026, 11, 22, hour, tzinfo=UTC), tags=more)

    as_of = begun(12, **{AS_OF_TAG: "2026-11-22T08:00:00+00:00"})
    assert snapshots.newest([begun(7), begun(9), as_of]) == begun(9)
    assert snapshots.newest([begun(7), as_of]) == as_of


def test_a_volume_of_the_same_name_in_another_stack_has_other_snapshots(ec2: Any, ids: Ids) -> None:
    ec2.create_snapshot(VolumeId=ids["volume"], TagSpecifications=tagged("snapshot", **{STACK_TAG: "shop/staging"}))
    assert [one.id for one in EbsSnapshots(PLACE).of_name("mysql", "shop/prod")] == [ids["snapshot"]]
