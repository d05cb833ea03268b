from __future__ import annotations

from typing import Any

import pytest

from tests.providers.aws.life import Life
from tests.providers.harness import PluginProcess

SNAPSHOT = "aws:ebs/snapshot:Snapshot"


@pytest.fixture
def volume_id(plugin: PluginProcess) -> str:
    return Life(plugin, "aws:ebs/volume:Volume").create({"availabilityZone": "us-west-2a", "size": 3}).id


@pytest.fixture
def snapshot(plugin: PluginProcess, volume_id: str) -> Life:
    return Life(plugin, SNAPSHOT).create({"volumeId": volume_id, "description": "d", "tags": {"Name": "s"}})


def test_a_snapshot_is_taken_and_awaited(snapshot: Life, volume_id: str) -> None:
    assert snapshot.state["volumeId"] == volume_id
    assert snapshot.state["volumeSize"] == 3
    assert snapshot.state["arn"] == f"arn:aws:ec2:us-west-2::snapshot/{snapshot.id}"
    assert snapshot.state["ownerId"] == "123456789012"
    assert snapshot.state["storageTier"] == "standard"
    assert snapshot.state["tags"] == {"Name": "s"}


def test_a_second_run_changes_nothing(snapshot: Life, volume_id: str) -> None:
    assert snapshot.refresh()
    assert not snapshot.diff({"volumeId": volume_id, "description": "d", "tags": {"Name": "s"}}).changed


def test_another_volume_replaces_the_snapshot(snapshot: Life) -> None:
    diff = snapshot.diff({"volumeId": "vol-1", "description": "d", "tags": {"Name": "s"}})
    assert diff.replaces == ["volumeId"]


def test_the_tier_and_tags_change_in_place(snapshot: Life, volume_id: str) -> None:
    news = {"volumeId": volume_id, "description": "d", "storageTier": "archive"}
    assert set(snapshot.diff(news).detailed) == {"storageTier", "tags.Name", "tagsAll.Name"}
    snapshot.update(news)
    assert snapshot.state["storageTier"] == "archive"
    assert "tags" not in snapshot.state
    snapshot.update(news | {"storageTier": "standard", "permanentRestore": True})
    assert snapshot.state["permanentRestore"] is True


def test_an_unknown_tier_is_refused(plugin: PluginProcess) -> None:
    assert "archive, standard" in Life(plugin, SNAPSHOT).refused({"volumeId": "vol-1", "storageTier": "cold"})


def test_a_snapshot_deleted_by_somebody_is_gone(snapshot: Life, aws: Any) -> None:
    aws.ec2.delete_snapshot(SnapshotId=snapshot.id)
    assert not snapshot.refresh()
    snapshot.delete()


def test_a_snapshot_is_imported_by_its_id(plugin: PluginProcess, snapshot: Life, volume_id: str) -> None:
    found = Life(plugin, SNAPSHOT)
    assert found.import_(snapshot.id)
    assert found.inputs["volumeId"] == volume_id
    assert not found.diff({"volumeId": volume_id, "description": "d", "tags": {"Name": "s"}}).changed


def test_a_volume_is_restored_from_a_snapshot(plugin: PluginProcess, snapshot: Life) -> None:
    restored = Life(plugin, "aws:ebs/volume:Volume").create(
        {"availabilityZone": "us-west-2b", "snapshotId": snapshot.id}
    )
    assert restored.state["snapshotId"] == snapshot.id
