"""Whether Nomad attaches and detaches now: it silently skips both while a controller is unhealthy.

Before it calls a controller, Nomad checks whether the driver attaches volumes at all, by any one of the plugin's
controllers. It knows no capabilities of an unhealthy one (one that was killed, as the next fingerprint finds, taken
every 30 s): it then grants a claim without attaching ("Device path not provided"), and releases one without detaching,
so that the volume stays attached where nothing claims it. Nomad 1.1.0 to 1.11.3 behave so.
Below https://github.com/hashicorp/nomad/blob/v1.11.3/: HasControllerCapability in nomad/structs/csi.go,
controllerPublishVolume and controllerUnpublishVolume in nomad/csi_endpoint.go, fingerprint in
client/pluginmanager/csimanager/fingerprint.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.paths import plugin_path, volume_path
from nomad_stateful.nomad.watching import Progress, watch
from nomad_stateful.plugin_server.plugin import Context


def registered(api: NomadApi, namespace: str, volume_ids: Iterable[str]) -> list[dict[str, Any]]:
    """Returns those of the volumes that are registered, as Nomad's API has them. Raises NomadError."""
    found = (api.find(volume_path(volume_id), namespace=namespace) for volume_id in sorted(volume_ids))
    return [volume for volume in found if volume is not None]


def await_controllers(
    ctx: Context, api: NomadApi, volumes: Sequence[Mapping[str, Any]], deadline: float, progress: Progress
) -> list[str]:
    """Waits until Nomad attaches and detaches the volumes; returns what is wrong at the deadline."""
    for plugin_id in sorted({str(volume.get("PluginID") or "") for volume in volumes} - {""}):
        lacks: list[str] = []
        for plugin in watch(ctx, api, plugin_path(plugin_id), deadline):
            lacks = list(_lacks(plugin_id, plugin or {}))
            if not lacks:
                break
            progress.report(f"waiting until Nomad attaches and detaches volumes: {'; '.join(lacks)}")
        if lacks:
            return lacks
    return []


def _lacks(plugin_id: str, plugin: Mapping[str, Any]) -> Iterator[str]:
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
