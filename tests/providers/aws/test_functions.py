from __future__ import annotations

import json
from typing import Any

import pytest

from tests.providers.aws.life import Life
from tests.providers.harness import Failed, PluginProcess

ZONES = "aws:index/getAvailabilityZones:getAvailabilityZones"
VOLUME = "aws:ebs/getVolume:getVolume"
SNAPSHOT = "aws:ebs/getSnapshot:getSnapshot"
ROLE = "aws:iam/getRole:getRole"


def test_zones_are_sorted_by_name(plugin: PluginProcess) -> None:
    zones = plugin.invoke(ZONES, {"state": "available"})
    assert zones["names"] == ["us-west-2a", "us-west-2b", "us-west-2c", "us-west-2d"]
    assert len(zones["zoneIds"]) == 4
    assert zones["id"] == "us-west-2"
    assert zones["state"] == "available"


def test_an_unknown_zone_state_is_refused(plugin: PluginProcess) -> None:
    with pytest.raises(Failed, match="expected state to be one of"):
        plugin.invoke(ZONES, {"state": "sleepy"})


def test_the_caller_is_whoever_the_credentials_are(plugin: PluginProcess) -> None:
    caller = plugin.invoke("aws:index/getCallerIdentity:getCallerIdentity")
    assert caller["accountId"] == caller["id"] == "123456789012"
    assert caller["arn"].startswith("arn:aws:sts::123456789012:")
    assert caller["userId"]


def test_a_role_is_found_by_name(plugin: PluginProcess, role: str) -> None:
    found = plugin.invoke(ROLE, {"name": role})
    assert found["arn"] == "arn:aws:iam::123456789012:role/nomad-client"
    assert (found["id"], found["name"], found["path"], found["description"]) == (role, role, "/", "clients")
    assert json.loads(found["assumeRolePolicy"])["Version"] == "2012-10-17"
    assert found["uniqueId"].startswith("A")
    assert (found["permissionsBoundary"], found["roleLastUseds"], found["tags"]) == ("", [], {})
    assert found["maxSessionDuration"] == 3600


def test_a_missing_role_is_named(plugin: PluginProcess) -> None:
    with pytest.raises(Failed, match=r"reading IAM Role \(nobody\): .*no role 'nobody'"):
        plugin.invoke(ROLE, {"name": "nobody"})


def test_a_missing_argument_is_named(plugin: PluginProcess) -> None:
    with pytest.raises(Failed, match="Missing required argument: name"):
        plugin.invoke(ROLE)


def test_a_volume_is_found_by_filters(plugin: PluginProcess) -> None:
    made = Life(plugin, "aws:ebs/volume:Volume").create(
        {"availabilityZone": "us-west-2a", "size": 5, "tags": {"Name": "data"}}
    )
    found = plugin.invoke(VOLUME, {"filters": [{"name": "tag:Name", "values": ["data"]}]})
    assert (found["id"], found["volumeId"], found["size"], found["volumeType"]) == (made.id, made.id, 5, "gp2")
    assert found["arn"] == made.state["arn"]
    assert found["tags"] == {"Name": "data"}


def test_one_volume_has_to_be_meant(plugin: PluginProcess) -> None:
    with pytest.raises(Failed, match="no results"):
        plugin.invoke(VOLUME)
    for _ in range(2):
        Life(plugin, "aws:ebs/volume:Volume").create({"availabilityZone": "us-west-2a", "size": 5})
    with pytest.raises(Failed, match="more than one result"):
        plugin.invoke(VOLUME)


def test_a_snapshot_is_found_by_its_id(plugin: PluginProcess, aws: Any) -> None:
    volume_id = aws.ec2.create_volume(AvailabilityZone="us-west-2a", Size=5)["VolumeId"]
    tags = [{"ResourceType": "snapshot", "Tags": [{"Key": "Name", "Value": "data"}]}]
    taken = aws.ec2.create_snapshot(VolumeId=volume_id, Description="nightly", TagSpecifications=tags)["SnapshotId"]

    def by_id(value: str) -> dict[str, Any]:
        return plugin.invoke(SNAPSHOT, {"filters": [{"name": "snapshot-id", "values": [value]}]})

    found = by_id(taken)
    assert (found["id"], found["snapshotId"], found["volumeId"], found["volumeSize"]) == (taken, taken, volume_id, 5)
    assert (found["state"], found["description"], found["tags"]) == ("completed", "nightly", {"Name": "data"})
    assert found["arn"] == f"arn:aws:ec2:us-west-2::snapshot/{taken}"
    with pytest.raises(Failed, match="no results"):
        by_id("snap-0123456789abcdef0")


@pytest.mark.parametrize(
    ("token", "args", "lacking"),
    [
        (ROLE, {"name": "x", "colour": "red"}, "the argument 'colour' of aws:iam/getRole:getRole"),
        (ZONES, {"region": "eu-west-1"}, "the argument 'region' of"),
        (VOLUME, {"mostRecent": True}, "the argument 'mostRecent' of"),
        ("aws:ec2/getInstance:getInstance", {"instanceId": "i-1"}, "aws:ec2/getInstance:getInstance"),
        ("aws:iam/getPolicyDocument:getPolicyDocument", {}, "aws:iam/getPolicyDocument:getPolicyDocument"),
    ],
)
def test_what_is_not_implemented_is_refused_with_the_way_out(
    plugin: PluginProcess, token: str, args: dict[str, Any], lacking: str
) -> None:
    with pytest.raises(Failed, match=f"{lacking}.*--plugins official"):
        plugin.invoke(token, args)
