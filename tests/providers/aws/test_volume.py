from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.providers.aws.conftest import PLUGIN
from tests.providers.aws.life import Life
from tests.providers.harness import Failed, PluginProcess, plugin_process
from tests.providers.moto_account import REGION

VOLUME = "aws:ebs/volume:Volume"
GP3 = {"availabilityZone": "us-west-2a", "size": 10, "type": "gp3", "tags": {"Name": "data"}}


@pytest.fixture
def volume(plugin: PluginProcess) -> Life:
    return Life(plugin, VOLUME, "data").create(GP3)


@pytest.fixture
def instance(aws: Any) -> str:
    image = aws.ec2.describe_images(Owners=["self", "amazon"])["Images"][0]["ImageId"]
    run = aws.ec2.run_instances(
        ImageId=image, MinCount=1, MaxCount=1, Placement={"AvailabilityZone": "us-west-2a"}, InstanceType="t3.small"
    )
    return str(run["Instances"][0]["InstanceId"])


def test_checked_inputs_hold_what_the_official_plugin_stores(plugin: PluginProcess) -> None:
    assert Life(plugin, VOLUME).checked(GP3) == {
        **GP3,
        "__defaults": ["finalSnapshot"],
        "finalSnapshot": False,
        "region": REGION,
        "tagsAll": {"Name": "data"},
    }


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"size": None}, "one of `size,snapshot_id` must be specified"),
        ({"size": 0}, "one of `size,snapshot_id` must be specified"),
        ({"size": -1}, "at least 1 GiB"),
        ({"size": 1.5}, "size: expected a whole number, got 1.5"),
        ({"size": "big"}, "size: expected a whole number, got 'big'"),
        ({"availabilityZone": None}, "Missing required argument: availabilityZone"),
        ({"availabilityZone": "us-east-1f"}, "zone 'us-east-1f' is not in region 'us-west-2'"),
        ({"availabilityZone": "us-west-2z"}, "has no zone 'us-west-2z': use us-west-2a, us-west-2b"),
        ({"type": "gp4"}, "expected one of gp2, gp3"),
        ({"type": "io2"}, "'iops' must be set when 'type' is 'io2'"),
        ({"type": "gp2", "iops": 100}, "'iops' must not be set when 'type' is 'gp2'"),
        ({"type": None, "iops": 100}, "'iops' must not be set when 'type' is ''"),
        ({"type": "gp2", "throughput": 125}, "'throughput' must not be set when 'type' is 'gp2'"),
        ({"throughput": 100}, "125 to 2000"),
        ({"multiAttachEnabled": True}, "does not implement the input 'multiAttachEnabled' of aws:ebs/volume:Volume"),
        ({"finalSnapshot": True}, "does not implement the input 'finalSnapshot' of aws:ebs/volume:Volume"),
        ({"volumeInitializationRate": 100}, "unless 'snapshot_id' is set"),
        ({"snapshotId": "snap-1", "volumeInitializationRate": 50}, "100 to 300"),
        ({"encrypted": True, "kmsKeyId": "alias/x"}, "invalid ARN"),
        ({"kmsKeyId": "arn:aws:kms:us-west-2:123456789012:key/x"}, "'encrypted' must be true"),
        ({"encrypted": "yes"}, "encrypted: expected true or false"),
        ({"tags": {"Name": ["x"]}}, "the value of tag 'Name' is not a string"),
        ({"colour": "red"}, "the embedded aws plugin does not implement the input 'colour'"),
    ],
)
def test_bad_inputs_are_refused_at_preview(plugin: PluginProcess, change: dict[str, Any], said: str) -> None:
    assert said in Life(plugin, VOLUME).refused(GP3 | change)


def test_outputs_have_the_official_names_and_shapes(volume: Life) -> None:
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", volume.state.pop("createTime"))
    assert volume.state == {
        "arn": f"arn:aws:ec2:us-west-2:123456789012:volume/{volume.id}",
        "availabilityZone": "us-west-2a",
        "encrypted": False,
        "finalSnapshot": False,
        "id": volume.id,
        "iops": 3000,
        "kmsKeyId": "",
        "multiAttachEnabled": False,
        "outpostArn": "",
        "region": REGION,
        "size": 10,
        "snapshotId": "",
        "tags": {"Name": "data"},
        "tagsAll": {"Name": "data"},
        "throughput": 0,
        "type": "gp3",
        "volumeInitializationRate": 0,
    }


def test_size_type_iops_and_throughput_change_in_place(volume: Life, aws: Any) -> None:
    faster = GP3 | {"size": 20, "type": "gp3", "iops": 4000, "throughput": 250}
    diff = volume.diff(faster)
    assert diff.detailed == {"size": "UPDATE", "iops": "UPDATE", "throughput": "UPDATE"}
    assert not diff.replaces
    volume.update(faster)
    assert [volume.state[name] for name in ("size", "iops", "throughput")] == [20, 4000, 250]
    assert aws.ec2.describe_volumes(VolumeIds=[volume.id])["Volumes"][0]["Size"] == 20
    volume.update(GP3 | {"size": 20, "type": "io2", "iops": 4000})
    assert volume.state["type"] == "io2"


def test_dropping_a_value_that_aws_chose_or_keeps_is_no_change(volume: Life) -> None:
    assert not volume.diff({"availabilityZone": "us-west-2a", "size": 10, "tags": {"Name": "data"}}).changed


def test_tags_are_changed_one_by_one(volume: Life, aws: Any) -> None:
    aws.ec2.create_tags(Resources=[volume.id], Tags=[{"Key": "somebody", "Value": "else"}])
    retagged = GP3 | {"tags": {"Name": "new", "a.b": "c"}}
    assert volume.diff(retagged).detailed == {
        "tags.Name": "UPDATE",
        'tags["a.b"]': "ADD",
        "tagsAll.Name": "UPDATE",
        'tagsAll["a.b"]': "ADD",
    }
    volume.update(retagged)
    tags = aws.ec2.describe_volumes(VolumeIds=[volume.id])["Volumes"][0]["Tags"]
    assert {tag["Key"]: tag["Value"] for tag in tags} == {"Name": "new", "a.b": "c", "somebody": "else"}


def test_drift_shows_at_refresh_and_the_next_run_reverts_it(volume: Life, aws: Any) -> None:
    aws.ec2.modify_volume(VolumeId=volume.id, VolumeType="gp2")
    aws.ec2.create_tags(Resources=[volume.id], Tags=[{"Key": "Name", "Value": "drifted"}])
    assert volume.refresh()
    assert volume.inputs["type"] == "gp2"
    assert volume.inputs["tags"] == {"Name": "drifted"}
    assert set(volume.diff(GP3).detailed) == {"type", "tags.Name", "tagsAll.Name"}
    volume.update(GP3)
    assert (volume.state["type"], volume.state["tags"]) == ("gp3", {"Name": "data"})


def test_a_volume_is_imported_by_its_id(plugin: PluginProcess, aws: Any) -> None:
    made = aws.ec2.create_volume(
        AvailabilityZone="us-west-2a",
        Size=10,
        VolumeType="gp3",
        TagSpecifications=[{"ResourceType": "volume", "Tags": [{"Key": "Name", "Value": "data"}]}],
    )
    volume = Life(plugin, VOLUME)
    assert volume.import_(made["VolumeId"])
    assert volume.inputs["size"] == 10
    assert "kmsKeyId" not in volume.inputs
    assert volume.inputs["__defaults"] == ["finalSnapshot"]
    assert not volume.diff(GP3).changed


def test_a_volume_whose_state_asks_for_a_final_snapshot_is_not_deleted_without_one(volume: Life, aws: Any) -> None:
    volume.state["finalSnapshot"] = True
    with pytest.raises(Failed, match=r"does not implement the final snapshot.*--plugins official"):
        volume.delete()
    assert len(aws.ec2.describe_volumes()["Volumes"]) == 1


def test_a_volume_is_restored_from_a_snapshot(plugin: PluginProcess, volume: Life, aws: Any) -> None:
    snapshot = aws.ec2.create_snapshot(VolumeId=volume.id)["SnapshotId"]
    restored = Life(plugin, VOLUME).create({"availabilityZone": "us-west-2b", "snapshotId": snapshot})
    assert restored.state["snapshotId"] == snapshot


def test_deleting_an_attached_volume_waits_until_it_is_detached(volume: Life, instance: str, aws: Any) -> None:
    aws.ec2.attach_volume(VolumeId=volume.id, InstanceId=instance, Device="/dev/sdf")
    with ThreadPoolExecutor(1) as pool:
        deletion = pool.submit(volume.delete, 30)
        try:
            progress = volume.plugin.engine.wait_for(f"waiting for EBS volume {volume.id}")
            assert not deletion.done()
        finally:
            aws.ec2.detach_volume(VolumeId=volume.id, InstanceId=instance)
        deletion.result(timeout=10)
    assert re.search(r"since \d\d:\d\d:\d\d \(\d+ s\)", progress)
    assert f"VolumeInUse: attached to {instance} as /dev/sdf" in progress
    assert "Ends when" in progress
    assert volume.id not in [item["VolumeId"] for item in aws.ec2.describe_volumes()["Volumes"]]


def test_a_volume_attached_for_too_long_fails_naming_what_holds_it(volume: Life, instance: str, aws: Any) -> None:
    aws.ec2.attach_volume(VolumeId=volume.id, InstanceId=instance, Device="/dev/sdf")
    with pytest.raises(Failed) as failed:
        volume.delete(timeout_s=1)
    assert f"deleting EBS Volume ({volume.id}): timeout after 1 s" in failed.value.message
    assert instance in failed.value.message


def test_a_cancel_ends_the_wait_long_before_its_deadline(
    plugin_env: dict[str, str], plugin: PluginProcess, instance: str, aws: Any
) -> None:
    with plugin_process(PLUGIN, plugin_env) as other:
        other.configure()
        volume = Life(other, VOLUME).create(GP3)
        aws.ec2.attach_volume(VolumeId=volume.id, InstanceId=instance, Device="/dev/sdf")
        with ThreadPoolExecutor(1) as pool:
            deletion = pool.submit(volume.delete, 300)
            try:
                other.engine.wait_for("waiting for EBS volume")
            finally:
                other.cancel()
            with pytest.raises(Failed, match="cancelled"):
                deletion.result(timeout=30)


def test_a_volume_of_another_region_lives_there(plugin: PluginProcess) -> None:
    elsewhere = {"region": "us-east-1", "availabilityZone": "us-east-1a"}
    assert Life(plugin, VOLUME).create(GP3).diff(GP3 | elsewhere).replaces == ["availabilityZone", "region"]
    volume = Life(plugin, VOLUME).create({"availabilityZone": "us-east-1a", "size": 1, "region": "us-east-1"})
    assert volume.state["region"] == "us-east-1"
    assert volume.state["arn"].startswith("arn:aws:ec2:us-east-1:")
    assert volume.refresh()
    volume.delete()
    assert not volume.refresh()


def test_state_of_an_older_plugin_without_a_region_is_no_change(volume: Life) -> None:
    del volume.state["region"], volume.inputs["region"], volume.inputs["__defaults"]
    volume.state["tags"] = volume.state["tags"] | {"__defaults": []}
    assert not volume.diff(GP3).changed


def test_what_aws_refuses_is_told_with_its_code(plugin: PluginProcess) -> None:
    with pytest.raises(Failed) as failed:
        Life(plugin, VOLUME).create(GP3 | {"snapshotId": "snap-0123456789abcdef0"})
    assert failed.value.message.startswith("creating EBS Volume: InvalidSnapshot.NotFound")
    assert failed.value.partial is None


def test_a_failed_update_keeps_what_is_really_there(volume: Life, aws: Any) -> None:
    aws.ec2.delete_volume(VolumeId=volume.id)
    with pytest.raises(Failed) as failed:
        volume.update(GP3 | {"size": 20})
    assert failed.value.message.startswith(f"updating EBS Volume ({volume.id}): InvalidVolume.NotFound")


def test_default_tags_go_on_but_do_not_show_as_own(tagging_plugin: PluginProcess) -> None:
    volume = Life(tagging_plugin, VOLUME).create(GP3)
    assert volume.inputs["tagsAll"] == {"Name": "data", "team": "db"}
    assert volume.state["tags"] == {"Name": "data"}
    assert volume.state["tagsAll"] == {"Name": "data", "team": "db"}
    assert volume.refresh()
    assert not volume.diff(GP3).changed


def test_a_change_of_default_tags_updates_tags_all_only(
    plugin: PluginProcess, tagging_plugin: PluginProcess, plugin_env: dict[str, str]
) -> None:
    volume = Life(tagging_plugin, VOLUME).create(GP3)
    with plugin_process(PLUGIN, plugin_env) as other:
        other.configure({"defaultTags": '{"tags": {"team": "web"}}'})
        volume.plugin = other
        assert volume.diff(GP3).detailed == {"tagsAll.team": "UPDATE"}
        volume.update(GP3)
        assert volume.state["tagsAll"] == {"Name": "data", "team": "web"}
        assert volume.state["tags"] == {"Name": "data"}
