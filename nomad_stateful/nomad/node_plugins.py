"""Whether the node plugins can unmount what is mounted: one that restarts cannot, and Nomad then detaches regardless.

When an allocation ends, its client asks the node plugin to unmount the volume. Where no plugin answers, the client
tells the server all the same that the claim is over, and the server has the volume detached while it is mounted. So a
consumer is not changed while the node plugin on its client is being replaced by a newer version of its job. Below
https://github.com/hashicorp/nomad/blob/v1.11.3/: Postrun in client/allocrunner/csi_hook.go.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nomad_stateful.nomad import clients, plugin_versions, volume_claims
from nomad_stateful.nomad.api import NomadApi


def mounted(volumes: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Returns the ids of the clients that volumes are claimed on, by the plugin that unmounts them."""
    found: dict[str, set[str]] = {}
    for volume in volumes:
        claimed_on = {claim.node_id for claim in volume_claims.claims(volume)} - {""}
        if claimed_on and volume.get("PluginID"):
            found.setdefault(str(volume["PluginID"]), set()).update(claimed_on)
    return {plugin_id: sorted(claimed_on) for plugin_id, claimed_on in found.items()}


def lacks(api: NomadApi, plugin_id: str, plugin: Mapping[str, Any], claimed_on: Sequence[str]) -> Iterator[str]:
    """Yields those of the clients that could not unmount, from the body of /v1/plugin/csi/<id>. Raises NomadError.

    An ineligible client keeps the version that it has, and has to be able to unmount all the same.
    """
    if not claimed_on:
        return
    known: Mapping[str, Mapping[str, Any]] = plugin.get("Nodes") or {}
    stubs = {stub.id: stub for stub in clients.listed(api)}
    older = plugin_versions.outdated(api, plugin, {stub.id for stub in stubs.values() if stub.takes_work})
    for node_id in sorted(stubs.keys() & set(claimed_on)):
        stub, info = stubs[node_id], known.get(node_id) or {}
        if stub.status != "ready":  # such a client unmounts nothing
            continue
        where = f"the node plugin of CSI plugin {plugin_id} on client {node_id[:8]}"
        if not info.get("Healthy"):
            kept = "" if stub.takes_work else f", which is {stub.state} and gets no other,"
            yield f"{where}{kept} is unhealthy ({info.get('HealthDescription') or 'Nomad does not know it'})"
        elif info.get("AllocID") in older:
            yield f"{where} is being replaced by its job's newest version"
