"""csi.v1.Node: a share is mounted at the staging path, and shown from there at the target paths."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from sandbox.standins.csi import capabilities, logs, mounter, mounts, node_calls
from sandbox.standins.csi.csi_proto import csi
from sandbox.standins.csi.errors import failed_precondition, invalid
from sandbox.standins.csi.inflight import InFlight

NODE_ID_VARIABLE: Final = "CSI_NODE_ID"
FS_TYPES: Final = ("nfs", "cifs")


def node_id() -> str:
    """CSI_NODE_ID, else the host's name."""
    return os.environ.get(NODE_ID_VARIABLE) or socket.gethostname()


def nfs_source(context: Mapping[str, str]) -> str:
    """`server:share` of a volume's context; INVALID_ARGUMENT where it has none."""
    kind = context.get("node_attach_driver", "")
    if kind != "nfs":
        raise invalid(f'unknown/unsupported node_attach_driver: {kind!r}: write node_attach_driver = "nfs"')
    for key in ("server", "share"):
        if not context.get(key):
            raise invalid(f"volume_context lacks {key!r}: a share is named by server and share")
    return f"{context['server']}:{context['share']}"


class NfsNode:
    """The node's side of the plugin. A volume is worked on by one call at a time: others are ABORTED, as upstream."""

    def __init__(self, *, knows_multi_writer: bool) -> None:
        self._extra = ["SINGLE_NODE_MULTI_WRITER"] if knows_multi_writer else []
        self._in_flight = InFlight('operation locked due to in progress operation(s): ["volume_id_{key}"]')

    def node_get_capabilities(self, _request: Any, _timeout_s: float | None) -> Any:
        """Stage, stats."""
        return node_calls.node_capabilities("STAGE_UNSTAGE_VOLUME", "GET_VOLUME_STATS", *self._extra)

    def node_get_info(self, _request: Any, _timeout_s: float | None) -> Any:
        """Who this is; no topology: a share is reachable from everywhere."""
        return csi.NodeGetInfoResponse(node_id=node_id(), max_volumes_per_node=0)

    def node_stage_volume(self, request: Any, _timeout_s: float | None) -> Any:
        """Mounts the share; mounted there already is known by its source and its place."""
        volume_id, staging = node_calls.volume_id(request), node_calls.path(request, "staging_target_path")
        capability = capabilities.needed(request)
        capabilities.check(capability, capabilities.EVERY_MODE, FS_TYPES)
        source = nfs_source(request.volume_context)
        options = [*capability.mount.mount_flags, "defaults"]
        doing = f"Could not stage volume {volume_id!r} from {source}"
        with self._in_flight.hold(volume_id), node_calls.failures(doing):
            Path(staging).mkdir(mode=0o750, parents=True, exist_ok=True)
            if all(mount.source != source for mount in mounts.mounts_at(staging)):
                mounter.mount_device(source, staging, capability.mount.fs_type or "nfs", options)
        logs.info("NodeStageVolume: mounted", level=2, volumeID=volume_id, source=source)
        return csi.NodeStageVolumeResponse()

    def node_unstage_volume(self, request: Any, _timeout_s: float | None) -> Any:
        """Unmounts the share."""
        volume_id, staging = node_calls.volume_id(request), node_calls.path(request, "staging_target_path")
        with self._in_flight.hold(volume_id), node_calls.failures(f"Could not unstage volume {volume_id!r}"):
            there = mounts.mount_at(staging)
            if there is not None and there.source.startswith("/"):
                raise failed_precondition(
                    f"{there.source} is mounted at {staging}: a device, or a folder of one, and no share"
                )
            _take_away(staging)
        return csi.NodeUnstageVolumeResponse()

    def node_publish_volume(self, request: Any, _timeout_s: float | None) -> Any:
        """Shows the share at the target path."""
        volume_id, target = node_calls.volume_id(request), node_calls.path(request, "target_path")
        staging = node_calls.path(request, "staging_target_path")
        capability = capabilities.needed(request)
        capabilities.check(capability, capabilities.EVERY_MODE, FS_TYPES)
        with self._in_flight.hold(volume_id), node_calls.failures(f"Could not publish volume {volume_id!r}"):
            staged = mounts.mount_at(staging)
            if staged is None:
                raise failed_precondition(f"nothing is staged at {staging}: the volume has to be staged first")
            published = mounts.mounts_at(target)
            if published and all(mount.source != staged.source for mount in published):
                raise failed_precondition(f"it appears something else is already mounted at {target}")
            # The share's own flags are the staging mount's.
            node_calls.publish(staging, target, [], read_only=request.readonly)
        logs.info("NodePublishVolume: published", level=2, volumeID=volume_id, target=target)
        return csi.NodePublishVolumeResponse()

    def node_unpublish_volume(self, request: Any, _timeout_s: float | None) -> Any:
        """Takes the share away from the target path, and the path with it."""
        volume_id, target = node_calls.volume_id(request), node_calls.path(request, "target_path")
        with self._in_flight.hold(volume_id), node_calls.failures(f"Could not unpublish volume {volume_id!r}"):
            _take_away(target)
        return csi.NodeUnpublishVolumeResponse()

    def node_get_volume_stats(self, request: Any, _timeout_s: float | None) -> Any:
        """How full the share is."""
        return node_calls.stats(request)


def _take_away(path: str) -> None:
    """Unmounts once, and removes the folder: what lies below another mount keeps it busy, and is not looked for."""
    if mounts.mount_at(path) is not None:
        mounter.unmount(path)
    if Path(path).exists():
        Path(path).rmdir()
