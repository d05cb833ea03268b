"""The controller's calls: each may come twice, and a second one that differs is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import grpc
import pytest

from sandbox.standins.csi.errors import CsiError
from tests.unit.sandbox.standins.ebs_csi_driver.conftest import Cloud

if TYPE_CHECKING:
    from sandbox.standins.ebs_csi_driver.controller import ControllerService

GIB = 1024**3
Code = grpc.StatusCode


@dataclass(frozen=True)
class Driver:
    """The controller as one that has volumes made for single writers calls it."""

    csi: Any
    controller: ControllerService
    cloud: Cloud

    @property
    def single_writer(self) -> Any:
        kind = self.csi.VolumeCapability
        mode = kind.AccessMode(mode=kind.AccessMode.SINGLE_NODE_WRITER)
        return kind(mount=kind.MountVolume(fs_type="ext4"), access_mode=mode)

    def create(
        self, name: str = "v", gib: int = 2, limit_gib: int = 0, zone: str = "", snapshot: str = "", **fields: Any
    ) -> Any:
        """Creates a volume and gives the answer's volume."""
        request = self.csi.CreateVolumeRequest(name=name, volume_capabilities=[self.single_writer], **fields)
        request.capacity_range.required_bytes = gib * GIB
        request.capacity_range.limit_bytes = limit_gib * GIB
        if zone:
            request.accessibility_requirements.requisite.add().segments["topology.kubernetes.io/zone"] = zone
        if snapshot:
            request.volume_content_source.snapshot.snapshot_id = snapshot
        return self.controller.create_volume(request, None).volume

    def snapshot(self, name: str, volume_id: str) -> str:
        """Takes a snapshot and gives its id."""
        request = self.csi.CreateSnapshotRequest(name=name, source_volume_id=volume_id)
        return str(self.controller.create_snapshot(request, None).snapshot.snapshot_id)

    def publish(self, volume_id: str, node_id: str) -> str:
        """Publishes a volume to a node and gives its device."""
        request = self.csi.ControllerPublishVolumeRequest(
            volume_id=volume_id, node_id=node_id, volume_capability=self.single_writer
        )
        return str(self.controller.controller_publish_volume(request, 30.0).publish_context["devicePath"])


@pytest.fixture
def driver(csi: Any, controller: ControllerService, cloud: Cloud) -> Driver:
    return Driver(csi, controller, cloud)


def refused(code: Code, call: Callable[[], object]) -> str:
    with pytest.raises(CsiError) as caught:
        call()
    assert caught.value.code is code, caught.value
    return caught.value.message


def test_a_volume_has_size_zone_type_and_tags(driver: Driver) -> None:
    volume = driver.create(gib=3, zone="us-west-2b", parameters={"type": "gp3", "tagSpecification_1": "Owner=me"})
    assert volume.capacity_bytes == 3 * GIB
    assert dict(volume.accessible_topology[0].segments) == {"topology.kubernetes.io/zone": "us-west-2b"}
    made = driver.cloud.ec2.client.describe_volumes(VolumeIds=[volume.volume_id])["Volumes"][0]
    assert (made["Size"], made["AvailabilityZone"], made["VolumeType"]) == (3, "us-west-2b", "gp3")
    assert {tag["Key"]: tag["Value"] for tag in made["Tags"]} == {
        "CSIVolumeName": "v",
        "ebs.csi.aws.com/cluster": "true",
        "Team": "data",
        "Owner": "me",
    }


def test_a_volume_is_restored_from_a_snapshot(driver: Driver) -> None:
    source = driver.create(name="source", gib=2)
    snapshot_id = driver.snapshot("s", source.volume_id)
    restored = driver.create(name="restored", gib=4, snapshot=snapshot_id)
    assert restored.content_source.snapshot.snapshot_id == snapshot_id
    assert restored.capacity_bytes == 4 * GIB
    refused(Code.NOT_FOUND, lambda: driver.create(name="none", snapshot="snap-00000000000000000"))


def test_publishing_twice_gives_one_attachment(driver: Driver) -> None:
    volume_id, node = driver.create().volume_id, driver.cloud.run_instance()
    assert driver.publish(volume_id, node) == driver.publish(volume_id, node) == "/dev/xvdaa"


def test_publishing_to_a_second_node_is_refused(driver: Driver) -> None:
    volume_id, node = driver.create().volume_id, driver.cloud.run_instance()
    driver.publish(volume_id, node)
    assert "AttachVolume" in refused(Code.INTERNAL, lambda: driver.publish(volume_id, driver.cloud.run_instance()))


def test_publishing_what_does_not_exist_is_refused(driver: Driver) -> None:
    refused(Code.INTERNAL, lambda: driver.publish("vol-00000000000000000", driver.cloud.run_instance()))
    refused(Code.NOT_FOUND, lambda: driver.publish(driver.create().volume_id, "i-00000000000000000"))


def test_unpublishing_and_deleting_may_be_repeated(csi: Any, driver: Driver) -> None:
    volume_id, node = driver.create().volume_id, driver.cloud.run_instance()
    driver.publish(volume_id, node)
    delete = csi.DeleteVolumeRequest(volume_id=volume_id)
    assert "VolumeInUse" in refused(Code.INTERNAL, lambda: driver.controller.delete_volume(delete, None))
    for _ in range(2):
        driver.controller.controller_unpublish_volume(
            csi.ControllerUnpublishVolumeRequest(volume_id=volume_id, node_id=node), 30.0
        )
    for _ in range(2):
        driver.controller.delete_volume(delete, None)


def test_a_volume_in_work_is_left_to_who_works_on_it(csi: Any, driver: Driver) -> None:
    request = csi.DeleteVolumeRequest(volume_id="vol-1")
    with driver.controller._in_flight.hold("vol-1"):
        refused(Code.ABORTED, lambda: driver.controller.delete_volume(request, None))


def test_expanding_asks_the_node_to_grow_the_file_system(csi: Any, driver: Driver) -> None:
    request = csi.ControllerExpandVolumeRequest(volume_id=driver.create(gib=2).volume_id)
    request.capacity_range.required_bytes = 3 * GIB - 5
    answer = driver.controller.controller_expand_volume(request, None)
    assert (answer.capacity_bytes, answer.node_expansion_required) == (3 * GIB, True)
    request.capacity_range.required_bytes = GIB
    assert driver.controller.controller_expand_volume(request, None).capacity_bytes == 3 * GIB


def test_modifying_changes_performance_and_tags(csi: Any, driver: Driver) -> None:
    volume_id = driver.create().volume_id
    wanted = {"iops": "4000", "throughput": "250", "tagSpecification_1": "Tier=hot"}
    request = csi.ControllerModifyVolumeRequest(volume_id=volume_id, mutable_parameters=wanted)
    driver.controller.controller_modify_volume(request, None)
    made = driver.cloud.ec2.client.describe_volumes(VolumeIds=[volume_id])["Volumes"][0]
    assert made["Iops"] == 4000
    assert {"Key": "Tier", "Value": "hot"} in made["Tags"]


def test_a_snapshot_name_belongs_to_one_volume(csi: Any, driver: Driver) -> None:
    first, second = driver.create(name="a").volume_id, driver.create(name="b").volume_id
    made = driver.snapshot("nightly", first)
    assert driver.snapshot("nightly", first) == made
    refused(Code.ALREADY_EXISTS, lambda: driver.snapshot("nightly", second))
    for _ in range(2):
        driver.controller.delete_snapshot(csi.DeleteSnapshotRequest(snapshot_id=made), None)


def test_snapshots_are_listed_in_pages_and_each_once(csi: Any, driver: Driver) -> None:
    volume_id = driver.create().volume_id
    made = [driver.snapshot(f"s{number}", volume_id) for number in range(7)]
    seen, token = [], ""
    while True:
        request = csi.ListSnapshotsRequest(source_volume_id=volume_id, max_entries=5, starting_token=token)
        answer = driver.controller.list_snapshots(request, None)
        seen += [entry.snapshot.snapshot_id for entry in answer.entries]
        token = answer.next_token
        if not token:
            break
    assert sorted(seen) == sorted(made)
    few = csi.ListSnapshotsRequest(max_entries=4)
    refused(Code.INVALID_ARGUMENT, lambda: driver.controller.list_snapshots(few, None))


def test_listing_an_unknown_snapshot_is_refused(csi: Any, driver: Driver) -> None:
    request = csi.ListSnapshotsRequest(snapshot_id="snap-00000000000000000")
    refused(Code.INTERNAL, lambda: driver.controller.list_snapshots(request, None))


def test_access_from_many_nodes_is_for_raw_devices_only(csi: Any, driver: Driver) -> None:
    many = csi.VolumeCapability.AccessMode(mode=csi.VolumeCapability.AccessMode.MULTI_NODE_MULTI_WRITER)
    request = csi.ValidateVolumeCapabilitiesRequest(volume_id=driver.create().volume_id)
    request.volume_capabilities.add(mount=csi.VolumeCapability.MountVolume(), access_mode=many)
    assert not driver.controller.validate_volume_capabilities(request, None).HasField("confirmed")
    del request.volume_capabilities[:]
    request.volume_capabilities.add(block=csi.VolumeCapability.BlockVolume(), access_mode=many)
    assert driver.controller.validate_volume_capabilities(request, None).HasField("confirmed")


def test_nobody_is_promised_a_list_of_volumes(csi: Any, driver: Driver) -> None:
    rpc = csi.ControllerServiceCapability.RPC
    answer = driver.controller.controller_get_capabilities(csi.ControllerGetCapabilitiesRequest(), None)
    promised = {rpc.Type.Name(item.rpc.type) for item in answer.capabilities}
    assert promised == {
        "CREATE_DELETE_VOLUME",
        "PUBLISH_UNPUBLISH_VOLUME",
        "CREATE_DELETE_SNAPSHOT",
        "LIST_SNAPSHOTS",
        "EXPAND_VOLUME",
        "MODIFY_VOLUME",
    }
