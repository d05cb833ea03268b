"""Whether Nomad attaches and detaches now: it silently skips both while a controller is unhealthy.

Before it calls a controller, Nomad checks whether the driver attaches volumes at all, by any one of the plugin's
controllers. It knows no capabilities of an unhealthy one (one that was killed, as the next fingerprint finds, taken
every 30 s): it then grants a claim without attaching ("Device path not provided"), and releases one without detaching,
so that the volume stays attached where nothing claims it. Nomad 1.1.0 to 1.11.3 behave so.
Below https://github.com/hashicorp/nomad/blob/v1.11.3/: HasControllerCapability in nomad/structs/csi.go,
controllerPublishVolume and controllerUnpublishVolume in nomad/csi_endpoint.go, fingerprint in
client/pluginmanager/csimanager/fingerprint.go.
"""

from collections.abc import Iterator, Mapping
from typing import Any


def lacks(plugin_id: str, plugin: Mapping[str, Any]) -> Iterator[str]:
    """Yields what is wrong with the controllers, from the body of /v1/plugin/csi/<id>."""
    controllers: Mapping[str, Mapping[str, Any]] = plugin.get("Controllers") or {}
    healthy = [info for info in controllers.values() if info.get("Healthy")]
    if healthy and not any((info.get("ControllerInfo") or {}).get("SupportsAttachDetach") for info in healthy):
        return  # This driver's controllers never attach.
    if plugin.get("ControllerRequired") and not controllers:
        yield f"no controller of CSI plugin {plugin_id} is known"
    for node_id, info in controllers.items():
        if not info.get("Healthy"):
            why = info.get("HealthDescription") or "no reason is known"
            allocation = f"allocation {str(info.get('AllocID') or '?')[:8]}"
            yield f"a controller of CSI plugin {plugin_id} is unhealthy ({allocation}, client {node_id[:8]}: {why})"
