"""The tags of snapshots that this program takes: found again by them, and no driver may delete them for them."""

from typing import Any

import pytest

from nomad_stateful.ebs import tags
from nomad_stateful.ebs.snapshots import EbsSnapshots
from nomad_stateful.ebs.tags import FINAL_TAG, FIRST, MOVE_TAG
from nomad_stateful.operate.zone_change.copies import Copies
from nomad_stateful.provider.resources.volume_protection import VolumeProtection
from nomad_stateful.waiting import Context
from tests.unit.aws import PLACE, REGION

OWN = {"Name": "mysql", "team": "db", "nomad-stateful-stack": "shop/prod"}


@pytest.fixture
def volume_id(ec2: Any) -> str:
    given = {**OWN, "nomad-stateful-guard": "g1", "ebs.csi.aws.com/cluster": "true"}
    specification = [{"ResourceType": "volume", "Tags": tags.listed(given)}]
    made = ec2.create_volume(AvailabilityZone=f"{REGION}a", Size=2, TagSpecifications=specification)
    return str(made["VolumeId"])


def read(ec2: Any, snapshot_id: str) -> dict[str, str]:
    return tags.read(ec2.describe_snapshots(SnapshotIds=[snapshot_id])["Snapshots"][0])


def test_a_final_snapshot_has_the_volumes_tags_but_not_the_drivers(ec2: Any, volume_id: str) -> None:
    named = {"volumeName": "mysql", "volumeId": volume_id, "region": PLACE.region, "accountId": PLACE.account_id}
    VolumeProtection().delete(Context(), volume_id, named | {"finalSnapshot": True, "timeoutS": 5})
    [taken] = EbsSnapshots(PLACE).final_of(volume_id)
    assert read(ec2, taken.id) == {**OWN, FINAL_TAG: volume_id}


def test_so_has_that_of_a_move(ec2: Any, volume_id: str) -> None:
    taken = Copies(PLACE, volume_id, "mysql").take(FIRST, 5)
    assert read(ec2, taken) == {**OWN, MOVE_TAG: FIRST}
