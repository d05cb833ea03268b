"""csi.v1.Identity."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sandbox.standins.csi.csi_proto import csi
from sandbox.standins.ebs_csi_driver.version import DRIVER_NAME, DRIVER_VERSION


class IdentityService:
    """Says which plugin this is; ready as soon as it answers."""

    def __init__(self, check: Callable[[], None] = lambda: None) -> None:
        """`check` is made at each probe; what it raises ends the probe."""
        self._check = check

    def get_plugin_info(self, _request: Any, _timeout_s: float | None) -> Any:
        """Name and version."""
        return csi.GetPluginInfoResponse(name=DRIVER_NAME, vendor_version=DRIVER_VERSION)

    def get_plugin_capabilities(self, _request: Any, _timeout_s: float | None) -> Any:
        """A controller exists somewhere, and volumes cannot be reached from everywhere; the same in every mode."""
        service = csi.PluginCapability.Service
        kinds = (service.CONTROLLER_SERVICE, service.VOLUME_ACCESSIBILITY_CONSTRAINTS)
        capabilities = [csi.PluginCapability(service=service(type=kind)) for kind in kinds]
        return csi.GetPluginCapabilitiesResponse(capabilities=capabilities)

    def probe(self, _request: Any, _timeout_s: float | None) -> Any:
        """Ready: an empty answer says so, as upstream's does."""
        self._check()
        return csi.ProbeResponse()
