"""csi.v1.Controller: volumes. It checks requests, asks the cloud, and answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sandbox.standins.csi import capabilities, logs
from sandbox.standins.csi.csi_proto import csi
from sandbox.standins.csi.errors import given, internal, invalid
from sandbox.standins.csi.inflight import InFlight
from sandbox.standins.ebs_csi_driver import capacity, tags, topology
from sandbox.standins.ebs_csi_driver.capability import all_supported, is_block, is_supported, wants_multi_attach
from sandbox.standins.ebs_csi_driver.cloud.attachments import ATTACH_TIMEOUT_S, DETACH_TIMEOUT_S, Attachments
from sandbox.standins.ebs_csi_driver.cloud.errors import CloudError, Kind
from sandbox.standins.ebs_csi_driver.cloud.snapshots import Snapshots
from sandbox.standins.ebs_csi_driver.cloud.volume_types import iops_for
from sandbox.standins.ebs_csi_driver.cloud.volumes import Volume, VolumeChange, VolumeRequest, Volumes
from sandbox.standins.ebs_csi_driver.cloud_status import cloud
from sandbox.standins.ebs_csi_driver.controller_snapshots import SnapshotCalls
from sandbox.standins.ebs_csi_driver.node import DEVICE_PATH_KEY
from sandbox.standins.ebs_csi_driver.parameters import VolumeParameters, read_modification, read_volume_parameters
from sandbox.standins.ebs_csi_driver.version import since

_CAPABILITIES: Final = (
    *("CREATE_DELETE_VOLUME", "PUBLISH_UNPUBLISH_VOLUME", "CREATE_DELETE_SNAPSHOT", "LIST_SNAPSHOTS"),
    *("EXPAND_VOLUME", "MODIFY_VOLUME"),
)


def _within(call_timeout_s: float | None, ours_s: float) -> float:
    """How long to wait for EC2: as long as the caller waits for us, who then learns no reason, as upstream."""
    return ours_s if call_timeout_s is None else min(ours_s, call_timeout_s)


class ControllerService(SnapshotCalls):
    """The controller's side of the plugin; snapshots are in the base class."""

    def __init__(
        self, extra_tags: Mapping[str, str], volumes: Volumes, attachments: Attachments, snapshots: Snapshots
    ) -> None:
        """`extra_tags` go on each volume and snapshot that it makes."""
        super().__init__(extra_tags, snapshots)
        self._volumes = volumes
        self._attachments = attachments
        self._in_flight = InFlight()

    def check_cloud(self) -> None:
        """What each probe asks since v1.50.0: whether EC2 answers."""
        with cloud("EC2 does not answer"):
            self._volumes.dry_run_zones()

    def controller_get_capabilities(self, _request: Any, _timeout_s: float | None) -> Any:
        """As upstream: no ListVolumes, no GetCapacity."""
        return capabilities.controller(_CAPABILITIES)

    def create_volume(self, request: Any, _timeout_s: float | None) -> Any:
        """Makes a volume; EC2 gives the one made for this name before, by its token."""
        given(request.name, "Volume name")
        if not request.volume_capabilities:
            raise invalid("Volume capabilities not provided")
        if not all_supported(request.volume_capabilities):
            raise invalid("Volume capabilities not supported")
        parameters = read_volume_parameters(request.parameters, request.mutable_parameters)
        snapshot_id = _snapshot_source(request)
        size_gib = capacity.requested_gib(request.capacity_range.required_bytes, request.capacity_range.limit_bytes)
        with self._in_flight.hold(request.name), cloud(f"Could not create volume {request.name!r}"):
            volume = self._create(request, parameters, size_gib, snapshot_id)
            logs.info("CreateVolume: created", name=request.name, volumeID=volume.volume_id)
        return _created(volume, snapshot_id)

    def _create(self, request: Any, parameters: VolumeParameters, size_gib: int, snapshot_id: str) -> Volume:
        try:
            iops = iops_for(
                parameters.volume_type,
                size_gib,
                parameters.iops,
                parameters.iops_per_gib,
                may_raise=parameters.may_raise_iops,
            )
        except ValueError as error:
            raise internal(f"Could not create volume {request.name!r}: {error}") from None
        needs = request.accessibility_requirements
        zone = topology.pick_zone(
            [item.segments for item in needs.preferred], [item.segments for item in needs.requisite]
        )
        extra = {**self._extra_tags, **parameters.tags}
        wanted = VolumeRequest(
            size_gib=size_gib,
            zone=zone or self._volumes.default_zone(),
            volume_type=parameters.volume_type,
            iops=iops,
            throughput=parameters.throughput,
            encrypted=parameters.encrypted,
            kms_key_id=parameters.kms_key_id,
            snapshot_id=snapshot_id,
            multi_attach=wants_multi_attach(request.volume_capabilities),
            tags=tags.volume_tags(request.name, extra),
        )
        if since(1, 50):
            self._volumes.dry_run_iops(wanted)
        return self._volumes.create(request.name, wanted)

    def delete_volume(self, request: Any, _timeout_s: float | None) -> Any:
        """Deletes a volume; gone already is fine."""
        volume_id = given(request.volume_id, "Volume ID")
        with self._in_flight.hold(volume_id), cloud(f"Could not delete volume {volume_id!r}"):
            try:
                self._volumes.delete(volume_id)
            except CloudError as error:
                if error.kind is not Kind.NOT_FOUND:
                    raise
        return csi.DeleteVolumeResponse()

    def controller_publish_volume(self, request: Any, timeout_s: float | None) -> Any:
        """Attaches a volume to a node."""
        volume_id, node_id = given(request.volume_id, "Volume ID"), given(request.node_id, "Node ID")
        if not is_supported(capabilities.needed(request)):
            raise invalid("Volume capability not supported")
        doing = f"Could not attach volume {volume_id!r} to node {node_id!r}"
        with self._in_flight.hold(volume_id + node_id), cloud(doing):
            device = self._attachments.attach(volume_id, node_id, timeout_s=_within(timeout_s, ATTACH_TIMEOUT_S))
        logs.info("ControllerPublishVolume: attached", volumeID=volume_id, nodeID=node_id, devicePath=device)
        return csi.ControllerPublishVolumeResponse(publish_context={DEVICE_PATH_KEY: device})

    def controller_unpublish_volume(self, request: Any, timeout_s: float | None) -> Any:
        """Detaches a volume from a node; not attached, or gone, is fine."""
        volume_id, node_id = given(request.volume_id, "Volume ID"), given(request.node_id, "Node ID")
        doing = f"Could not detach volume {volume_id!r} from node {node_id!r}"
        with self._in_flight.hold(volume_id + node_id), cloud(doing):
            self._attachments.detach(volume_id, node_id, timeout_s=_within(timeout_s, DETACH_TIMEOUT_S))
        logs.info("ControllerUnpublishVolume: detached", volumeID=volume_id, nodeID=node_id)
        return csi.ControllerUnpublishVolumeResponse()

    def validate_volume_capabilities(self, request: Any, _timeout_s: float | None) -> Any:
        """Confirms what is asked, or leaves the confirmation out."""
        volume_id = given(request.volume_id, "Volume ID")
        if not request.volume_capabilities:
            raise invalid("Volume capabilities not provided")
        with cloud(f"Could not get volume with ID {volume_id!r}"):
            self._volumes.get(volume_id)
        answer = csi.ValidateVolumeCapabilitiesResponse
        if not all_supported(request.volume_capabilities):
            return answer(message="access mode not supported")
        confirmed = answer.Confirmed(
            volume_context=request.volume_context,
            volume_capabilities=request.volume_capabilities,
            parameters=request.parameters,
        )
        return answer(confirmed=confirmed)

    def controller_expand_volume(self, request: Any, _timeout_s: float | None) -> Any:
        """Enlarges a volume; large enough already is fine."""
        volume_id = given(request.volume_id, "Volume ID")
        if not request.HasField("capacity_range"):
            raise invalid("Capacity range not provided")
        asked = request.capacity_range
        size_gib = capacity.requested_gib(asked.required_bytes, asked.limit_bytes)
        with self._in_flight.hold(volume_id), cloud(f"Could not resize volume {volume_id!r}"):
            volume = self._volumes.modify(volume_id, VolumeChange(size_gib=size_gib))
        raw = request.HasField("volume_capability") and is_block(request.volume_capability)
        return csi.ControllerExpandVolumeResponse(
            capacity_bytes=volume.size_gib * capacity.GIB, node_expansion_required=not raw
        )

    def controller_modify_volume(self, request: Any, _timeout_s: float | None) -> Any:
        """Change type, IOPS, throughput or tags."""
        volume_id = given(request.volume_id, "Volume ID")
        asked = read_modification(request.mutable_parameters)
        change = VolumeChange(volume_type=asked.volume_type, iops=asked.iops, throughput=asked.throughput)
        with self._in_flight.hold(volume_id), cloud(f"Could not modify volume {volume_id!r}"):
            self._volumes.modify(volume_id, change)
            if asked.tags:
                self._volumes.tag(volume_id, asked.tags)
        return csi.ControllerModifyVolumeResponse()


def _snapshot_source(request: Any) -> str:
    """The snapshot to restore from, or ""."""
    if not request.HasField("volume_content_source"):
        return ""
    source = request.volume_content_source
    if source.WhichOneof("type") != "snapshot":
        raise invalid("Unsupported volumeContentSource type")
    if not source.snapshot.snapshot_id:
        raise invalid("Error retrieving snapshot from the volumeContentSource")
    return str(source.snapshot.snapshot_id)


def _created(volume: Volume, snapshot_id: str) -> Any:
    source = None
    if snapshot_id:
        source = csi.VolumeContentSource(snapshot=csi.VolumeContentSource.SnapshotSource(snapshot_id=snapshot_id))
    made = csi.Volume(
        volume_id=volume.volume_id,
        capacity_bytes=volume.size_gib * capacity.GIB,
        content_source=source,
        accessible_topology=[csi.Topology(segments=topology.volume_segments(volume.zone))],
    )
    return csi.CreateVolumeResponse(volume=made)
