"""Whether the node plugins can unmount what is mounted: one that restarts cannot, and Nomad then detaches regardless.

When an allocation ends, its client asks the node plugin to unmount the volume. Where no plugin answers, the client
tells the server all the same that the claim is over, and the server has the volume detached while it is mounted. So a
consumer is not changed while the node plugin on its client is being replaced by a newer version of its job. Below
https://github.com/hashicorp/nomad/blob/v1.11.3/: Postrun in client/allocrunner/csi_hook.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nomad_stateful.nomad import plugin_versions, volume_claims
from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.paths import plugin_path
from nomad_stateful.nomad.watching import Progress, watch
from nomad_stateful.plugin_server.plugin import Context


def await_node_plugins(
    ctx: Context, api: NomadApi, volumes: Sequence[Mapping[str, Any]], deadline: float, progress: Progress
) -> list[str]:
    """Waits until each client that may have a volume mounted can unmount it; what is wrong at the deadline.

    `volumes` are bodies of /v1/volume/csi/<id>; `deadline` is on time.monotonic()'s clock. Raises NomadError.
    """
    for plugin_id, clients in sorted(_mounted(volumes).items()):
        lacks: list[str] = []
        for plugin in watch(ctx, api, plugin_path(plugin_id), deadline):
            lacks = list(_lacks(api, plugin_id, plugin or {}, clients))
            if not lacks:
                break
            progress.report(f"waiting until the volumes can be unmounted: {'; '.join(lacks)}")
        if lacks:
            return lacks
    return []


def _mounted(volumes: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Ids of the clients that volumes are claimed on, by the plugin that unmounts them."""
    found: dict[str, set[str]] = {}
    for volume in volumes:
        clients = {claim.node_id for claim in volume_claims.claims(volume)} - {""}
        if clients and volume.get("PluginID"):
            found.setdefault(str(volume["PluginID"]), set()).update(clients)
    return {plugin_id: sorted(clients) for plugin_id, clients in found.items()}


def _lacks(api: NomadApi, plugin_id: str, plugin: Mapping[str, Any], clients: Sequence[str]) -> Iterator[str]:
    known: Mapping[str, Mapping[str, Any]] = plugin.get("Nodes") or {}
    older = plugin_versions.outdated(api, plugin)
    for node_id in clients:
        # A client that is down unmounts nothing, and an ineligible one keeps the version that it has.
        if not plugin_versions.is_eligible(api, node_id):
            continue
        info = known.get(node_id) or {}
        where = f"the node plugin of CSI plugin {plugin_id} on client {node_id[:8]}"
        if not info.get("Healthy"):
            yield f"{where} is unhealthy ({info.get('HealthDescription') or 'Nomad does not know it'})"
        elif info.get("AllocID") in older:
            yield f"{where} is being replaced by its job's newest version"
