"""The controller: what all folder drivers do, a limit of capacity, and attaching, which means nothing here."""

from __future__ import annotations

from typing import Any

import grpc

from sandbox.standins.csi import capabilities
from sandbox.standins.csi.csi_proto import csi
from sandbox.standins.csi.errors import CsiError, invalid, not_found
from sandbox.standins.csi.folder_store import FolderStore
from sandbox.standins.csi.node_calls import volume_id
from sandbox.standins.csi.volume_controller import Traits, VolumeController
from sandbox.standins.hostpath.options import Options


class HostPathController(VolumeController):
    """csi.v1.Controller."""

    def __init__(self, store: FolderStore, traits: Traits, options: Options) -> None:
        super().__init__(store, traits)
        self._folders = store
        self._options = options
        if not options.enable_attach:
            # A call that is not offered is UNIMPLEMENTED, by its name.
            self.controller_publish_volume = self.controller_unpublish_volume = None  # type: ignore[assignment]

    def create_volume(self, request: Any, timeout_s: float | None) -> Any:
        """As all, within --capacity."""
        limit = self._options.capacity_bytes
        known = self._folders.volumes()
        if limit and all(one.name != request.name for one in known):
            left = limit - sum(one.capacity_bytes for one in known)
            if request.capacity_range.required_bytes > left:
                raise CsiError(
                    grpc.StatusCode.RESOURCE_EXHAUSTED,
                    f"required_bytes is {request.capacity_range.required_bytes}: --capacity leaves {left} bytes",
                )
        return super().create_volume(request, timeout_s)

    def controller_publish_volume(self, request: Any, _timeout_s: float | None) -> Any:
        """Only this client can have the volume."""
        found = self._known(request)
        capabilities.check(capabilities.needed(request), capabilities.EVERY_MODE)
        if request.node_id != self._options.node_id:
            raise not_found(f"volume {found} is on node {self._options.node_id}, not on {request.node_id}")
        return csi.ControllerPublishVolumeResponse()

    def controller_unpublish_volume(self, request: Any, _timeout_s: float | None) -> Any:
        """Done as soon as it is asked."""
        volume_id(request)
        return csi.ControllerUnpublishVolumeResponse()

    def _known(self, request: Any) -> str:
        wanted = volume_id(request)
        if not request.node_id:
            raise invalid("Node ID not provided")
        if all(one.volume_id != wanted for one in self._folders.volumes()):
            raise not_found(f"There is no volume {wanted!r}")
        return wanted
