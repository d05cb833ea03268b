"""How a volume is tied to its guard, and its size to its file system."""

from typing import Any

import pytest

from tests.unit.program.recorder import Resources, record
from tests.unit.program.test_components import SETTINGS


@pytest.fixture(scope="module")
def resources() -> Resources:
    return record(SETTINGS)


def test_a_volume_follows_its_guard_by_a_tag_and_the_final_snapshot(resources: Resources) -> None:
    volume = resources["ebs-mysql-us-west-2a"].inputs
    assert volume["tags"]["nomad-stateful-guard"] == "guard-1"
    protection = resources["volumes.mysql.protect"].inputs
    assert (protection["volumeId"], protection["finalSnapshot"]) == ("ebs-mysql-us-west-2a-id", True)


def test_what_asks_ec2_about_a_volume_knows_its_account(resources: Resources) -> None:
    asking = ("ebs-mysql-guard", "volumes.mysql.protect", "mysql-release-mysql")
    providers = {str(resources[name].provider).rsplit("::", 2)[1] for name in asking}
    assert [resources[name].inputs["awsAccountId"] for name in providers] == ["123456789012"]
    assert resources["volumes.mysql.protect"].inputs["accountId"] == "123456789012", "the volume's own word"


def test_a_guard_knows_the_volume_by_its_setting_and_not_by_its_zone(resources: Resources) -> None:
    guard = resources["ebs-mysql-guard"].inputs
    known: dict[str, Any] = {key: guard[key] for key in ("volumeName", "zone", "sizeGib", "protect")}
    assert known == {"volumeName": "mysql", "zone": "us-west-2a", "sizeGib": 10, "protect": True}
    assert resources["nomad-csi"].inputs["awsRegion"] == "us-west-2"
    assert resources["ebs-archive-guard"].inputs["protect"] is False


def test_a_file_system_follows_the_volumes_size(resources: Resources) -> None:
    kept = resources["volumes.mysql.protect"].inputs
    assert (kept["sizeGib"], kept["growth"], kept["registeredIn"]) == (10, "online-or-restart", "default")


def test_a_block_device_has_no_file_system_to_grow() -> None:
    archive = {**SETTINGS["volumes"][1], "attachmentMode": "block-device", "fsType": ""}
    recorded = record({**SETTINGS, "volumes": [SETTINGS["volumes"][0], archive]})
    kept = recorded["volumes.archive.protect"].inputs
    assert kept["attachmentMode"] == "block-device"
    assert "sizeGib" not in kept


def test_a_volume_is_three_resources_beside_the_storage_itself(resources: Resources) -> None:
    of_volume = {name for name in resources if "archive" in name}
    assert of_volume == {
        "ebs-archive-guard",
        "ebs-archive-us-west-2b",
        "volumes.archive.protect",
        "volume-archive-registration",
    }
