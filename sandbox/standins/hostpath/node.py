"""csi.v1.Node: a volume's folder is shown at the target path."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sandbox.standins.csi import capabilities, logs, mounter, node_calls
from sandbox.standins.csi.csi_proto import csi
from sandbox.standins.csi.errors import not_found
from sandbox.standins.csi.folder_store import FolderStore
from sandbox.standins.csi.inflight import InFlight


class HostPathNode:
    """The node's side of the plugin."""

    def __init__(self, store: FolderStore, node_id: str, topology: dict[str, str]) -> None:
        self._store = store
        self._node_id = node_id
        self._topology = topology
        self._in_flight = InFlight()

    def node_get_capabilities(self, _request: Any, _timeout_s: float | None) -> Any:
        """Stage, stats, expand."""
        names = ("STAGE_UNSTAGE_VOLUME", "GET_VOLUME_STATS", "SINGLE_NODE_MULTI_WRITER", "EXPAND_VOLUME")
        return node_calls.node_capabilities(*names)

    def node_get_info(self, _request: Any, _timeout_s: float | None) -> Any:
        """Who this is, and that its volumes are here alone."""
        topology = csi.Topology(segments=self._topology)
        return csi.NodeGetInfoResponse(node_id=self._node_id, accessible_topology=topology)

    def node_stage_volume(self, request: Any, _timeout_s: float | None) -> Any:
        """Nothing to do: the volume is here."""
        node_calls.volume_id(request)
        node_calls.path(request, "staging_target_path")
        capabilities.check(capabilities.needed(request), capabilities.EVERY_MODE)
        self._folder(request.volume_id)
        return csi.NodeStageVolumeResponse()

    def node_unstage_volume(self, request: Any, _timeout_s: float | None) -> Any:
        """Nothing to do."""
        node_calls.volume_id(request)
        node_calls.path(request, "staging_target_path")
        return csi.NodeUnstageVolumeResponse()

    def node_publish_volume(self, request: Any, _timeout_s: float | None) -> Any:
        """Shows the folder."""
        volume_id, target = node_calls.volume_id(request), node_calls.path(request, "target_path")
        capability = capabilities.needed(request)
        capabilities.check(capability, capabilities.EVERY_MODE)
        folder = str(self._folder(volume_id))
        doing = f"Could not publish volume {volume_id!r}"
        with self._in_flight.hold(target), node_calls.failures(doing):
            node_calls.publish(folder, target, capability.mount.mount_flags, read_only=request.readonly)
        logs.info("NodePublishVolume: published", level=2, volumeID=volume_id, target=target)
        return csi.NodePublishVolumeResponse()

    def node_unpublish_volume(self, request: Any, _timeout_s: float | None) -> Any:
        """Takes the folder away from the target path, and the path with it."""
        volume_id, target = node_calls.volume_id(request), node_calls.path(request, "target_path")
        doing = f"Could not unpublish volume {volume_id!r}"
        with self._in_flight.hold(target), node_calls.failures(doing):
            mounter.clean_up(target)
        return csi.NodeUnpublishVolumeResponse()

    def node_get_volume_stats(self, request: Any, _timeout_s: float | None) -> Any:
        """How full the client's file system is."""
        return node_calls.stats(request)

    def node_expand_volume(self, request: Any, _timeout_s: float | None) -> Any:
        """Nothing to do: a folder grows by itself."""
        volume_id, path = node_calls.volume_id(request), node_calls.path(request, "volume_path")
        self._folder(volume_id)
        if not Path(path).exists():
            raise not_found(f"volume path {path} does not exist")
        return csi.NodeExpandVolumeResponse(capacity_bytes=request.capacity_range.required_bytes)

    def _folder(self, volume_id: str) -> Path:
        if all(one.volume_id != volume_id for one in self._store.volumes()):
            raise not_found(f"There is no volume {volume_id!r} on node {self._node_id}")
        return self._store.volume_path(volume_id)
