"""The final snapshot of a volume, against moto."""

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

from nomad_stateful.ebs.guarded_volumes import GuardedVolumes
from nomad_stateful.errors import ProviderError
from nomad_stateful.plugin_server.plugin import Kind
from nomad_stateful.plugin_server.values import UNKNOWN
from nomad_stateful.provider.resources import volume_protection
from nomad_stateful.provider.resources.volume_protection import VolumeProtection
from nomad_stateful.waiting import Context

REGION = "us-west-2"


@pytest.fixture
def ec2(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    for key in ("AWS_ENDPOINT_URL", "AWS_PROFILE", "AWS_CA_BUNDLE"):
        monkeypatch.delenv(key, raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "none")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "none")
    with mock_aws():
        yield boto3.client("ec2", region_name=REGION)


@pytest.fixture
def volume_id(ec2: Any) -> str:
    tags = [{"ResourceType": "volume", "Tags": [{"Key": "team", "Value": "db"}]}]
    return str(ec2.create_volume(AvailabilityZone=f"{REGION}a", Size=1, TagSpecifications=tags)["VolumeId"])


def delete(volume_id: str, *, final: bool = True, protection: VolumeProtection | None = None, **more: Any) -> str:
    """What a deletion tells."""
    told: list[str] = []
    ctx = Context(sink=lambda _severity, message, _urn, _ephemeral: told.append(message))
    state = {
        "volumeName": "mysql",
        "volumeId": volume_id,
        "finalSnapshot": final,
        "region": REGION,
        "accountId": "123456789012",
        "timeoutS": 1,
    } | more
    (protection or VolumeProtection()).delete(ctx, volume_id, state)
    return "\n".join(told)


def snapshots(ec2: Any, volume_id: str) -> list[dict[str, Any]]:
    found = ec2.describe_snapshots(Filters=[{"Name": "volume-id", "Values": [volume_id]}])["Snapshots"]
    return list(found)


def test_a_deletion_takes_a_snapshot_with_the_volumes_tags_and_names_it(ec2: Any, volume_id: str) -> None:
    told = delete(volume_id)
    [taken] = snapshots(ec2, volume_id)
    assert f"the contents of volume mysql are in snapshot {taken['SnapshotId']}" in told
    tags = {tag["Key"]: tag["Value"] for tag in taken["Tags"]}
    assert (tags["Name"], tags["team"]) == ("mysql", "db")


def test_a_later_deletion_takes_what_was_written_since_an_earlier_one_that_did_not_end(
    ec2: Any, volume_id: str
) -> None:
    delete(volume_id)
    [earlier] = snapshots(ec2, volume_id)
    # Here the destroy was aborted; an `up` brought the consumers back, and they wrote for months.
    told = delete(volume_id)
    [final] = [one for one in snapshots(ec2, volume_id) if one["SnapshotId"] != earlier["SnapshotId"]]
    assert f"the contents of volume mysql are in snapshot {final['SnapshotId']}" in told
    assert f"older contents, of deletions that did not end, are in {earlier['SnapshotId']}" in told


def test_a_snapshot_that_is_still_being_copied_is_waited_for_before_the_next_one(
    ec2: Any, volume_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(volume_protection, "POLL_S", 0.01)
    delete(volume_id)
    [earlier] = snapshots(ec2, volume_id)
    progress = iter(["40% copied", "completed"])
    asked: list[str] = []

    def of(_self: GuardedVolumes, snapshot_id: str) -> str:
        asked.append("earlier" if snapshot_id == earlier["SnapshotId"] else "final")
        return next(progress) if asked[-1] == "earlier" else "completed"

    monkeypatch.setattr(GuardedVolumes, "snapshot_progress", of)
    states = {earlier["SnapshotId"]: "pending"}
    monkeypatch.setattr(GuardedVolumes, "earlier_final_snapshots", lambda _self, _id: states)
    delete(volume_id)
    assert asked == ["earlier", "earlier", "final"]


@pytest.mark.parametrize("planned", [UNKNOWN, "vol-0fedcba9876543210"])
def test_a_volume_that_would_be_replaced_is_refused_as_long_as_it_exists(
    ec2: Any, volume_id: str, planned: Any
) -> None:
    olds = {"volumeName": "mysql", "volumeId": volume_id, "region": REGION, "accountId": "123456789012"}
    [refused] = VolumeProtection().check(Context(), olds, olds | {"volumeId": planned}).failures
    assert refused.reason.startswith(f"volume mysql is {volume_id}, which would be replaced by an empty one")
    assert VolumeProtection().check(Context(), olds, olds).failures == []
    ec2.delete_volume(VolumeId=volume_id)
    assert VolumeProtection().check(Context(), olds, olds | {"volumeId": planned}).failures == []


def test_without_a_final_snapshot_nothing_is_taken(ec2: Any, volume_id: str) -> None:
    assert delete(volume_id, final=False) == ""
    assert snapshots(ec2, volume_id) == []


@pytest.mark.parametrize("more", [{}, {"leaving": True}, {"namespace": "default"}, {"finalSnapshot": False}])
def test_a_protected_volume_stays_whatever_the_engine_was_told(ec2: Any, volume_id: str, more: dict[str, Any]) -> None:
    with pytest.raises(
        ProviderError, match=r"volumes\.mysql\.protect was true .*set protect: false on it, run `pulumi"
    ):
        delete(volume_id, protect=True, **more)
    assert snapshots(ec2, volume_id) == []


def test_a_state_of_before_protects_as_it_did() -> None:
    """Its protection is the engine's alone, until the next `up`, which changes it in place."""
    protection = VolumeProtection()
    olds = protection.check(Context(), {}, {"volumeName": "mysql", "volumeId": "vol-0123456789abcdef0"}).inputs
    before = {key: value for key, value in olds.items() if key != "protect"}
    news = protection.check(Context(), before, before | {"protect": True}).inputs
    assert protection.diff(Context(), "vol-0123456789abcdef0", before, before, news).detailed == {
        "protect": Kind.UPDATE
    }
    assert protection.diff(Context(), "vol-0123456789abcdef0", before, before, olds).detailed == {}


def test_a_volume_that_is_gone_has_nothing_to_take(ec2: Any, volume_id: str) -> None:
    delete(volume_id)
    [taken] = snapshots(ec2, volume_id)
    ec2.delete_volume(VolumeId=volume_id)
    told = delete(volume_id)
    assert f"is gone already: nothing to take a snapshot of; what it held is in {taken['SnapshotId']}" in told


@pytest.mark.usefixtures("ec2")
def test_a_snapshot_that_takes_too_long_keeps_the_volume(volume_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GuardedVolumes, "snapshot_progress", lambda _self, _id: "40% copied")
    with pytest.raises(ProviderError, match=r"is not complete after 1 s \(40% copied\); the volume was not deleted"):
        delete(volume_id)


def test_a_volume_that_moves_is_left_in_aws_without_the_stacks_tags(ec2: Any, volume_id: str) -> None:
    stack = [
        {"Key": "nomad-stateful-stack", "Value": "nomad-stateful/dev"},
        {"Key": "nomad-stateful-snapshots", "Value": "x"},
    ]
    ec2.create_tags(Resources=[volume_id], Tags=stack)
    told: list[str] = []
    ctx = Context(sink=lambda _severity, message, _urn, _ephemeral: told.append(message))
    state = {"volumeName": "mysql", "volumeId": volume_id, "finalSnapshot": True, "leaving": True, "region": REGION}
    for _ in range(2):
        VolumeProtection().delete(ctx, volume_id, state | {"accountId": "123456789012", "timeoutS": 1})
    [found] = ec2.describe_volumes(VolumeIds=[volume_id])["Volumes"]
    assert {tag["Key"]: tag["Value"] for tag in found["Tags"]} == {
        "team": "db",
        "nomad-stateful-left": "nomad-stateful/dev/mysql",
    }
    assert snapshots(ec2, volume_id) == []
    assert f"EBS volume {volume_id} stays in AWS as it is" in told[0]


@pytest.mark.usefixtures("ec2")
def test_only_a_volume_that_was_let_go_is_replaced_and_only_by_one_with_contents(volume_id: str) -> None:
    olds = {
        "volumeName": "mysql",
        "volumeId": volume_id,
        "region": REGION,
        "accountId": "123456789012",
        "leaving": True,
    }
    news = {**olds, "volumeId": UNKNOWN, "leaving": False}
    assert VolumeProtection().check(Context(), olds, news | {"hasContents": True}).failures == []
    assert VolumeProtection().check(Context(), olds, news | {"hasContents": False}).failures
    assert VolumeProtection().check(Context(), {**olds, "leaving": False}, news | {"hasContents": True}).failures
