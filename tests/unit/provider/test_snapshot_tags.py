"""The tags of snapshots that this program takes: found again by them, and no driver may delete them for them."""

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

from nomad_stateful.ebs import tags
from nomad_stateful.ebs.ec2_client import AwsPlace
from nomad_stateful.ebs.guarded_volumes import GuardedVolumes
from nomad_stateful.ebs.tags import FINAL_TAG, FIRST, MOVE_TAG
from operate.zone_change.copies import Copies

REGION = "us-west-2"
OWN = {"Name": "mysql", "team": "db", "nomad-stateful-stack": "shop/prod"}


@pytest.fixture
def ec2(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    for key in ("AWS_ENDPOINT_URL", "AWS_PROFILE", "AWS_CA_BUNDLE", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(key, raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "none")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "none")
    with mock_aws():
        yield boto3.client("ec2", region_name=REGION)


@pytest.fixture
def volume_id(ec2: Any) -> str:
    given = {**OWN, "nomad-stateful-guard": "g1", "ebs.csi.aws.com/cluster": "true"}
    specification = [{"ResourceType": "volume", "Tags": tags.listed(given)}]
    made = ec2.create_volume(AvailabilityZone=f"{REGION}a", Size=2, TagSpecifications=specification)
    return str(made["VolumeId"])


def read(ec2: Any, snapshot_id: str) -> dict[str, str]:
    return tags.read(ec2.describe_snapshots(SnapshotIds=[snapshot_id])["Snapshots"][0])


def test_a_final_snapshot_has_the_volumes_tags_but_not_the_drivers(ec2: Any, volume_id: str) -> None:
    taken = GuardedVolumes(AwsPlace(REGION, "123456789012")).begin_final_snapshot(volume_id, "mysql")
    assert read(ec2, taken) == {**OWN, FINAL_TAG: volume_id}


def test_so_has_that_of_a_move(ec2: Any, volume_id: str) -> None:
    taken = Copies(ec2, volume_id, "mysql").take(FIRST, 5)
    assert read(ec2, taken) == {**OWN, MOVE_TAG: FIRST}
