"""Whether the node plugins can unmount what is mounted: one that restarts cannot, and Nomad then detaches regardless.

When an allocation ends, its client asks the node plugin to unmount the volume. Where no plugin answers, the client
tells the server all the same that the claim is over, and the server has the volume detached while it is mounted. So a
consumer is not changed while the node plugin on its client is being replaced by a newer version of its job. Below
https://github.com/hashicorp/nomad/blob/v1.11.3/: Postrun in client/allocrunner/csi_hook.go.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nomad_stateful.nomad import plugin_versions, volume_claims
from nomad_stateful.nomad.api import NomadApi


def mounted(volumes: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Returns the ids of the clients that volumes are claimed on, by the plugin that unmounts them."""
    found: dict[str, set[str]] = {}
    for volume in volumes:
        clients = {claim.node_id for claim in volume_claims.claims(volume)} - {""}
        if clients and volume.get("PluginID"):
            found.setdefault(str(volume["PluginID"]), set()).update(clients)
    return {plugin_id: sorted(clients) for plugin_id, clients in found.items()}


def lacks(api: NomadApi, plugin_id: str, plugin: Mapping[str, Any], clients: Sequence[str]) -> Iterator[str]:
    """Yields the clients that could not unmount, from the body of /v1/plugin/csi/<id>. Raises NomadError."""
    if not clients:
        return
    known: Mapping[str, Mapping[str, Any]] = plugin.get("Nodes") or {}
    eligible = plugin_versions.eligible_clients(api)
    older = plugin_versions.outdated(api, plugin, eligible)
    # A client that is down unmounts nothing, and an ineligible one keeps the version that it has.
    for node_id in sorted(eligible.intersection(clients)):
        info = known.get(node_id) or {}
        where = f"the node plugin of CSI plugin {plugin_id} on client {node_id[:8]}"
        if not info.get("Healthy"):
            yield f"{where} is unhealthy ({info.get('HealthDescription') or 'Nomad does not know it'})"
        elif info.get("AllocID") in older:
            yield f"{where} is being replaced by its job's newest version"
