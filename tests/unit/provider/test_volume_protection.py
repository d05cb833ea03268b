"""The final snapshot of a volume, against moto."""

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

from provider.guarded_volumes import GuardedVolumes
from provider.resources.volume_protection import VolumeProtection
from provider.rpc.plugin import Context, ProviderError

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


def delete(volume_id: str, *, final: bool = True, protection: VolumeProtection | None = None) -> str:
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
    }
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


def test_a_repeated_deletion_does_not_take_another_one(ec2: Any, volume_id: str) -> None:
    assert delete(volume_id) == delete(volume_id)
    assert len(snapshots(ec2, volume_id)) == 1


def test_without_a_final_snapshot_nothing_is_taken(ec2: Any, volume_id: str) -> None:
    assert delete(volume_id, final=False) == ""
    assert snapshots(ec2, volume_id) == []


def test_a_volume_that_is_gone_has_nothing_to_take(ec2: Any, volume_id: str) -> None:
    ec2.delete_volume(VolumeId=volume_id)
    assert "is gone already" in delete(volume_id)


@pytest.mark.usefixtures("ec2")
def test_a_snapshot_that_takes_too_long_keeps_the_volume(volume_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GuardedVolumes, "snapshot_progress", lambda _self, _id: "40% copied")
    with pytest.raises(ProviderError, match=r"is not complete after 1 s \(40% copied\); the volume was not deleted"):
        delete(volume_id)
