from __future__ import annotations

import json
from typing import Any

import pytest

from tests.providers.aws.life import Life
from tests.providers.harness import Failed, PluginProcess

ZONES = "aws:index/getAvailabilityZones:getAvailabilityZones"
REGION = "aws:index/getRegion:getRegion"
VOLUME = "aws:ebs/getVolume:getVolume"
SNAPSHOT = "aws:ebs/getSnapshot:getSnapshot"
INSTANCE = "aws:ec2/getInstance:getInstance"
INSTANCES = "aws:ec2/getInstances:getInstances"
ROLE = "aws:iam/getRole:getRole"


@pytest.fixture
def instance(plugin: PluginProcess, aws: Any) -> str:
    image = aws.ec2.describe_images(Owners=["self", "amazon"])["Images"][0]["ImageId"]
    tags = [{"ResourceType": "instance", "Tags": [{"Key": "Name", "Value": "client-1"}]}]
    run = aws.ec2.run_instances(ImageId=image, MinCount=1, MaxCount=1, TagSpecifications=tags)
    return str(run["Instances"][0]["InstanceId"])


def test_zones_are_sorted_by_name(plugin: PluginProcess) -> None:
    zones = plugin.invoke(ZONES, {"state": "available"})
    assert zones["names"] == ["us-west-2a", "us-west-2b", "us-west-2c", "us-west-2d"]
    assert len(zones["zoneIds"]) == 4
    assert zones["id"] == "us-west-2"
    assert zones["state"] == "available"


def test_zones_can_be_left_out_and_filtered(plugin: PluginProcess) -> None:
    assert plugin.invoke(ZONES, {"excludeNames": ["us-west-2a"]})["names"][0] == "us-west-2b"
    filters = [{"name": "zone-name", "values": ["us-west-2c"]}]
    assert plugin.invoke(ZONES, {"filters": filters})["names"] == ["us-west-2c"]


def test_zones_of_another_region(plugin: PluginProcess) -> None:
    assert plugin.invoke(ZONES, {"region": "eu-west-1"})["names"][0] == "eu-west-1a"


def test_an_unknown_zone_state_is_refused(plugin: PluginProcess) -> None:
    with pytest.raises(Failed, match="expected state to be one of"):
        plugin.invoke(ZONES, {"state": "sleepy"})


def test_the_caller_is_whoever_the_credentials_are(plugin: PluginProcess) -> None:
    caller = plugin.invoke("aws:index/getCallerIdentity:getCallerIdentity")
    assert caller["accountId"] == caller["id"] == "123456789012"
    assert caller["arn"].startswith("arn:aws:sts::123456789012:")
    assert caller["userId"]


def test_a_region_has_a_description_and_an_endpoint(plugin: PluginProcess) -> None:
    assert plugin.invoke(REGION) == {
        "description": "US West (Oregon)",
        "endpoint": "ec2.us-west-2.amazonaws.com",
        "id": "us-west-2",
        "name": "us-west-2",
        "region": "us-west-2",
    }
    assert plugin.invoke(REGION, {"endpoint": "ec2.eu-west-1.amazonaws.com"})["name"] == "eu-west-1"
    with pytest.raises(Failed, match='region not found for name "moon-1"'):
        plugin.invoke(REGION, {"region": "moon-1"})


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
    lives = [
        Life(plugin, "aws:ebs/volume:Volume").create({"availabilityZone": "us-west-2a", "size": 5}) for _ in range(2)
    ]
    with pytest.raises(Failed, match="more than one result"):
        plugin.invoke(VOLUME)
    assert plugin.invoke(VOLUME, {"mostRecent": True})["id"] in {life.id for life in lives}


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


def test_running_instances_are_listed_with_their_addresses(plugin: PluginProcess, instance: str) -> None:
    found = plugin.invoke(INSTANCES, {"instanceTags": {"Name": "client-1"}})
    assert found["ids"] == [instance]
    assert len(found["privateIps"]) == 1
    assert found["id"] == "us-west-2"
    assert plugin.invoke(INSTANCES, {"instanceStateNames": ["stopped"]})["ids"] == []


def test_an_instance_is_found_by_id_or_tag(plugin: PluginProcess, instance: str) -> None:
    found = plugin.invoke(INSTANCE, {"instanceId": instance})
    assert found["instanceState"] == "running"
    assert found["arn"] == f"arn:aws:ec2:us-west-2:123456789012:instance/{instance}"
    assert found["tags"] == {"Name": "client-1"}
    assert plugin.invoke(INSTANCE, {"instanceTags": {"Name": "client-1"}})["id"] == instance
    with pytest.raises(Failed, match="no results"):
        plugin.invoke(INSTANCE, {"instanceId": "i-0123456789abcdef0"})


def test_what_is_not_implemented_is_refused_with_the_way_out(plugin: PluginProcess, instance: str) -> None:
    for token, args in ((INSTANCE, {"getUserData": True}), (ROLE, {"name": "x", "colour": "red"})):
        with pytest.raises(Failed, match="--plugins official"):
            plugin.invoke(token, args)


def test_a_policy_document_is_rendered(plugin: PluginProcess) -> None:
    result = plugin.invoke(
        "aws:iam/getPolicyDocument:getPolicyDocument",
        {"statements": [{"actions": ["ec2:AttachVolume", "ec2:DetachVolume"], "resources": ["*"]}]},
    )
    assert result["minifiedJson"] == (
        '{"Version":"2012-10-17","Statement":[{"Effect":"Allow",'
        '"Action":["ec2:DetachVolume","ec2:AttachVolume"],"Resource":"*"}]}'
    )
    assert result["json"].startswith('{\n  "Version": "2012-10-17",\n  "Statement": [\n    {\n')
    with pytest.raises(Failed, match="duplicate Sid"):
        plugin.invoke("aws:iam/getPolicyDocument:getPolicyDocument", {"statements": [{"sid": "a"}, {"sid": "a"}]})
