"""Whether Nomad attaches and detaches now: it skips both, without a word, while it knows an unhealthy controller.

Before it calls a controller, Nomad looks whether the driver attaches volumes at all, at any one of the plugin's
controllers. Of one that is unhealthy (killed, and found so by the fingerprint that is taken every 30 s) it knows no
capabilities: a claim is then granted without attaching ("Device path not provided"), and one is freed without
detaching, so that the volume stays attached where nothing claims it. The same in 1.11.0 to 1.11.3; it came with 1.1.0.
Below https://github.com/hashicorp/nomad/blob/v1.11.3/: HasControllerCapability in nomad/structs/csi.go,
controllerPublishVolume and controllerUnpublishVolume in nomad/csi_endpoint.go, fingerprint in
client/pluginmanager/csimanager/fingerprint.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

from nomad_stateful.nomad.api import NomadApi, NomadNotFound
from nomad_stateful.nomad.watching import Progress, watch
from nomad_stateful.plugin_server.plugin import Context


def plugins_of(api: NomadApi, namespace: str, volume_ids: Iterable[str]) -> list[str]:
    """Ids of the CSI plugins of those volumes that are registered, sorted. Raises NomadError."""
    found = set()
    for volume_id in volume_ids:
        try:
            volume = api.get(f"volume/csi/{quote(volume_id, safe='')}", namespace=namespace)
        except NomadNotFound:
            continue
        found.add(str(volume.get("PluginID") or ""))
    return sorted(found - {""})


def await_controllers(
    ctx: Context, api: NomadApi, plugin_ids: Iterable[str], deadline: float, progress: Progress
) -> list[str]:
    """Waits until Nomad attaches and detaches by each plugin; what is wrong at the deadline, empty if nothing is."""
    for plugin_id in plugin_ids:
        lacks: list[str] = []
        for plugin in watch(ctx, api, f"plugin/csi/{quote(plugin_id, safe='')}", deadline):
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
        return  # Nothing is ever attached by this driver's controllers.
    if plugin.get("ControllerRequired") and not controllers:
        yield f"no controller of CSI plugin {plugin_id} is known"
    for node_id, info in controllers.items():
        if not info.get("Healthy"):
            why = info.get("HealthDescription") or "no reason is known"
            allocation = f"allocation {str(info.get('AllocID') or '?')[:8]}"
            yield f"a controller of CSI plugin {plugin_id} is unhealthy ({allocation}, client {node_id[:8]}: {why})"
