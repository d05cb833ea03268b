"""csi.v1.Node: file systems are mounted at the target path, each time anew; nothing is staged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import grpc

from sandbox.standins.csi import capabilities, logs, mounter, node_calls
from sandbox.standins.csi.commands import CommandError
from sandbox.standins.csi.csi_proto import csi
from sandbox.standins.csi.errors import CsiError, internal
from sandbox.standins.csi.inflight import InFlight
from sandbox.standins.csi.metadata import MetadataError, NodeIdentity
from sandbox.standins.efs_csi_driver.options import Options
from sandbox.standins.efs_csi_driver.state import MountStates
from sandbox.standins.efs_csi_driver.volume_id import share

FS_TYPES: Final = ("efs",)


class EfsNode:
    """The node's side of the plugin."""

    def __init__(self, options: Options, identity: Callable[[], NodeIdentity], states: MountStates) -> None:
        """`identity` may block until the metadata service has answered."""
        self._options = options
        self._identity = identity
        self._states = states
        self._in_flight = InFlight()

    def node_get_capabilities(self, _request: Any, _timeout_s: float | None) -> Any:
        """Stats where opted in; no staging."""
        return node_calls.node_capabilities(*(["GET_VOLUME_STATS"] if self._options.vol_metrics else []))

    def node_get_info(self, _request: Any, _timeout_s: float | None) -> Any:
        """The instance's id; no topology: a file system is reachable from the whole region."""
        try:
            node_id = self._identity().instance_id
        except MetadataError as error:
            raise CsiError(grpc.StatusCode.UNAVAILABLE, f"The node's identity is not known: {error}") from None
        return csi.NodeGetInfoResponse(node_id=node_id)

    def node_publish_volume(self, request: Any, _timeout_s: float | None) -> Any:
        """Mounts the file system, the folder or the access point."""
        volume_id, target = node_calls.volume_id(request), node_calls.path(request, "target_path")
        capability = capabilities.needed(request)
        capabilities.check(capability, capabilities.EVERY_MODE, FS_TYPES)
        found = share(volume_id, request.volume_context, list(capability.mount.mount_flags), read_only=request.readonly)
        doing = f"Could not mount {found.source!r} at {target!r}"
        # One volume may be mounted at several targets at the same time.
        with self._in_flight.hold(target), node_calls.failures(doing):
            if not node_calls.is_published(target, read_only="ro" in found.options):
                self._mount(found.source, target, ",".join(found.options))
        logs.info("NodePublishVolume: mounted", level=2, source=found.source, target=target)
        return csi.NodePublishVolumeResponse()

    def _mount(self, source: str, target: str, options: str) -> None:
        point = Path(target)
        made = not point.exists()
        point.mkdir(parents=True, exist_ok=True)
        try:
            mounter.mount_device(source, target, "efs", [options] if options else [])
        except CommandError as error:
            if made:
                point.rmdir()
            raise internal(f"Could not mount {source!r} at {target!r}: {error}") from None
        self._states.note(source, target, options)

    def node_unpublish_volume(self, request: Any, _timeout_s: float | None) -> Any:
        """Unmount, and remove the target path; not mounted is fine."""
        node_calls.volume_id(request)
        target = node_calls.path(request, "target_path")
        with self._in_flight.hold(target), node_calls.failures(f"Could not unmount {target!r}"):
            mounter.clean_up(target)
            self._states.forget(target)
        return csi.NodeUnpublishVolumeResponse()

    def node_get_volume_stats(self, request: Any, _timeout_s: float | None) -> Any:
        """How full the file system is, where opted in."""
        if not self._options.vol_metrics:
            raise CsiError(
                grpc.StatusCode.UNIMPLEMENTED, "NodeGetVolumeStats needs --vol-metrics-opt-in on the command line"
            )
        return node_calls.stats(request)
