"""csi.v1.Identity of a driver."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

from sandbox.standins.csi.csi_proto import csi


@dataclass(frozen=True)
class Identity:
    """Says which plugin this is and what it has."""

    name: str
    version: str
    services: Collection[str] = field(default_factory=tuple)
    """Of CONTROLLER_SERVICE, VOLUME_ACCESSIBILITY_CONSTRAINTS."""
    online_expansion: bool = False
    check: Callable[[], None] | None = None
    """Raises CsiError while the driver is not ready; without it one that answers is."""
    says_ready: bool = True
    """Whether a probe says so; an empty answer means the same."""

    def get_plugin_info(self, _request: Any, _timeout_s: float | None) -> Any:
        """Name and version."""
        return csi.GetPluginInfoResponse(name=self.name, vendor_version=self.version)

    def get_plugin_capabilities(self, _request: Any, _timeout_s: float | None) -> Any:
        """The services, and whether volumes in use grow."""
        capability, service = csi.PluginCapability, csi.PluginCapability.Service
        found = [capability(service=service(type=service.Type.Value(name))) for name in self.services]
        if self.online_expansion:
            kind = capability.VolumeExpansion
            found.append(capability(volume_expansion=kind(type=kind.ONLINE)))
        return csi.GetPluginCapabilitiesResponse(capabilities=found)

    def probe(self, _request: Any, _timeout_s: float | None) -> Any:
        """Ready, or why not."""
        if self.check is not None:
            self.check()
        answer = csi.ProbeResponse()
        if self.says_ready:
            answer.ready.value = True
        return answer
