"""csi.v1.Node: checks requests and answers them; node_volumes does the work."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import grpc

from sandbox.standins.csi import capabilities, logs, node_calls
from sandbox.standins.csi.commands import CommandError
from sandbox.standins.csi.csi_proto import csi
from sandbox.standins.csi.errors import CsiError, given, internal, invalid, not_found
from sandbox.standins.csi.inflight import InFlight
from sandbox.standins.csi.metadata import MetadataError, NodeIdentity
from sandbox.standins.ebs_csi_driver import devices, filesystems, limits, node_volumes, topology
from sandbox.standins.ebs_csi_driver.capability import is_block, is_supported
from sandbox.standins.ebs_csi_driver.devices import DeviceFinder, DeviceNotFoundError
from sandbox.standins.ebs_csi_driver.filesystems import FilesystemError
from sandbox.standins.ebs_csi_driver.node_volumes import GrowthError
from sandbox.standins.ebs_csi_driver.parameters import check_context

DEVICE_PATH_KEY = "devicePath"


@dataclass(frozen=True)
class NodeSettings:
    """What the command line says of the node."""

    volume_attach_limit: int = -1
    reserved_volume_attachments: int = -1


@contextmanager
def _failures(doing: str) -> Iterator[None]:
    """Turns what the node's work raises into a status."""
    try:
        yield
    except DeviceNotFoundError as error:
        raise not_found(f"{doing}: {error}") from None
    except (FilesystemError, CommandError, OSError) as error:
        raise internal(f"{doing}: {error}") from None


@contextmanager
def _growth(volume_id: str) -> Iterator[None]:
    try:
        yield
    except GrowthError as error:
        raise internal(f'Could not resize volume "{volume_id}" ("{error.device}"): {error}') from None


def _check_capability(request: Any) -> None:
    if not is_supported(capabilities.needed(request)):
        raise invalid("Volume capability not supported")


def _fs_type(capability: Any) -> str:
    fs_type = (capability.mount.fs_type or filesystems.DEFAULT_TYPE).lower()
    if fs_type not in filesystems.TYPES:
        raise invalid(f"invalid fstype {fs_type}: use one of {', '.join(sorted(filesystems.TYPES))}")
    return fs_type


class NodeService:
    """The node's side of the plugin."""

    def __init__(self, settings: NodeSettings, identity: Callable[[], NodeIdentity], finder: DeviceFinder) -> None:
        """`identity` may block until the metadata service has answered."""
        self._settings = settings
        self._identity = identity
        self._finder = finder
        self._in_flight = InFlight()

    def node_get_capabilities(self, _request: Any, _timeout_s: float | None) -> Any:
        """Stage, expand, stats."""
        return node_calls.node_capabilities("STAGE_UNSTAGE_VOLUME", "EXPAND_VOLUME", "GET_VOLUME_STATS")

    def node_get_info(self, _request: Any, _timeout_s: float | None) -> Any:
        """Instance id, topology and how many volumes fit."""
        try:
            identity = self._identity()
        except MetadataError as error:
            raise CsiError(grpc.StatusCode.UNAVAILABLE, f"The node's identity is not known: {error}") from None
        settings = self._settings
        limit = limits.max_volumes(identity, settings.volume_attach_limit, settings.reserved_volume_attachments)
        return csi.NodeGetInfoResponse(
            node_id=identity.instance_id,
            max_volumes_per_node=limit,
            accessible_topology=csi.Topology(segments=topology.node_segments(identity.zone)),
        )

    def node_stage_volume(self, request: Any, _timeout_s: float | None) -> Any:
        """Formats when empty, and mounts at the staging path; a raw device needs nothing."""
        volume_id = given(request.volume_id, "Volume ID")
        given(request.staging_target_path, "Staging target")
        _check_capability(request)
        check_context(request.volume_context)
        if is_block(request.volume_capability):
            return csi.NodeStageVolumeResponse()
        fs_type = _fs_type(request.volume_capability)
        device_path = self._device_path(request)
        options = node_volumes.mount_options(fs_type, request.volume_capability.mount.mount_flags)
        with self._in_flight.hold(volume_id), _growth(volume_id), _failures(f"Could not stage volume {volume_id!r}"):
            device = self._finder.find(volume_id, device_path)
            node_volumes.stage(device, request.staging_target_path, fs_type, options)
        logs.info("NodeStageVolume: staged", level=2, volumeID=volume_id, device=device)
        return csi.NodeStageVolumeResponse()

    def node_unstage_volume(self, request: Any, _timeout_s: float | None) -> Any:
        """Unmounts the staging path."""
        volume_id = given(request.volume_id, "Volume ID")
        given(request.staging_target_path, "Staging target")
        with self._in_flight.hold(volume_id), _failures(f"Could not unstage volume {volume_id!r}"):
            node_volumes.unstage(request.staging_target_path)
        logs.info("NodeUnstageVolume: unstaged", level=2, volumeID=volume_id)
        return csi.NodeUnstageVolumeResponse()

    def node_publish_volume(self, request: Any, _timeout_s: float | None) -> Any:
        """Shows the volume at the target path."""
        volume_id = given(request.volume_id, "Volume ID")
        given(request.staging_target_path, "Staging target")
        given(request.target_path, "Target path")
        _check_capability(request)
        with self._in_flight.hold(volume_id), _failures(f"Could not publish volume {volume_id!r}"):
            if is_block(request.volume_capability):
                self._publish_block(volume_id, request)
            else:
                fs_type = _fs_type(request.volume_capability)
                options = node_volumes.mount_options(fs_type, request.volume_capability.mount.mount_flags)
                node_volumes.publish_filesystem(
                    request.staging_target_path, request.target_path, options, read_only=request.readonly
                )
        logs.info("NodePublishVolume: published", level=2, volumeID=volume_id, target=request.target_path)
        return csi.NodePublishVolumeResponse()

    def _publish_block(self, volume_id: str, request: Any) -> None:
        check_context(request.volume_context)
        device = self._finder.find(volume_id, self._device_path(request))
        node_volumes.publish_block(device, request.target_path, read_only=request.readonly)

    def node_unpublish_volume(self, request: Any, _timeout_s: float | None) -> Any:
        """Takes the volume away from the target path, and the path with it."""
        volume_id = given(request.volume_id, "Volume ID")
        given(request.target_path, "Target path")
        with self._in_flight.hold(volume_id), _failures(f"Could not unpublish volume {volume_id!r}"):
            node_volumes.unpublish(request.target_path)
        logs.info("NodeUnpublishVolume: unpublished", level=2, volumeID=volume_id, target=request.target_path)
        return csi.NodeUnpublishVolumeResponse()

    def node_get_volume_stats(self, request: Any, _timeout_s: float | None) -> Any:
        """How full the volume is."""
        volume_id = given(request.volume_id, "Volume ID")
        if not request.volume_path:
            raise invalid("NodeGetVolumeStats volume path was empty")
        if not os.path.lexists(request.volume_path):
            raise not_found(f"path {request.volume_path} does not exist")
        with _failures(f"Could not measure volume {volume_id!r}"):
            usage = node_volumes.usage(request.volume_path)
        unit = csi.VolumeUsage.Unit
        if usage.inodes is None:
            return csi.NodeGetVolumeStatsResponse(usage=[csi.VolumeUsage(unit=unit.BYTES, total=usage.total_bytes)])
        in_bytes = csi.VolumeUsage(
            unit=unit.BYTES, total=usage.total_bytes, used=usage.used_bytes, available=usage.available_bytes
        )
        inodes = csi.VolumeUsage(
            unit=unit.INODES, total=usage.inodes, used=usage.inodes_used, available=usage.inodes_free
        )
        return csi.NodeGetVolumeStatsResponse(usage=[in_bytes, inodes])

    def node_expand_volume(self, request: Any, _timeout_s: float | None) -> Any:
        """Grows the file system to the device's size."""
        volume_id = given(request.volume_id, "Volume ID")
        if not request.volume_path:
            raise invalid("volume path must be provided")
        if request.HasField("volume_capability"):
            _check_capability(request)
            if is_block(request.volume_capability):
                return csi.NodeExpandVolumeResponse()
        with self._in_flight.hold(volume_id), _growth(volume_id), _failures(f"Could not expand volume {volume_id!r}"):
            if devices.is_block_device(request.volume_path):
                return csi.NodeExpandVolumeResponse(capacity_bytes=devices.size_bytes(request.volume_path))
            capacity = node_volumes.expand(request.volume_path, self._finder.find(volume_id))
        return csi.NodeExpandVolumeResponse(capacity_bytes=capacity)

    @staticmethod
    def _device_path(request: Any) -> str:
        if DEVICE_PATH_KEY not in request.publish_context:
            raise invalid("Device path not provided")
        return str(request.publish_context[DEVICE_PATH_KEY])
