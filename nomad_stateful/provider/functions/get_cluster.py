"""getCluster: what the Nomad cluster offers, for refusing impossible configurations before the first resource."""

from __future__ import annotations

import re

from nomad_stateful.nomad import clients
from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.clients import Client
from nomad_stateful.plugin_server.plugin import Props
from nomad_stateful.provider.declared import DeclaredFunction, OnCluster
from nomad_stateful.schema.functions import GET_CLUSTER
from nomad_stateful.waiting import Context


class GetCluster(OnCluster, DeclaredFunction):
    """Reads the servers' versions and every client's version, zone, state, drivers and resources."""

    table = GET_CLUSTER

    def invoke(self, ctx: Context, args: Props) -> Props:
        self.table.arguments(args)
        api = self._api()
        api.reach()
        known = clients.read(api)
        ready = {one.zone for one in known if one.status == "ready" and one.zone}
        servers = _servers(api)
        oldest = min((server["version"] for server in servers), key=_version_key, default="")
        return {"version": oldest, "servers": servers, "nodes": [_node(one) for one in known], "zones": sorted(ready)}


def _node(client: Client) -> Props:
    return {
        "id": client.id,
        "name": client.name,
        "version": client.version,
        "zone": client.zone,
        "status": client.status,
        "eligibility": "eligible" if client.eligible else "ineligible",
        "datacenter": client.datacenter,
        "nodePool": client.pool,
        "drivers": client.healthy_drivers,
        "cpuMhz": client.cpu_mhz,
        "memoryMib": client.memory_mib,
    }


def _servers(api: NomadApi) -> list[Props]:
    """Returns the servers of the region that are up: gossip also knows those of federated regions, and what is gone."""
    gossip = api.get("agent/members")
    region = gossip.get("ServerRegion")
    members = [(member, member.get("Tags") or {}) for member in gossip.get("Members") or []]
    found = [
        {"name": member["Name"], "version": tags.get("build", "")}
        for member, tags in members
        if member["Status"] == "alive" and tags.get("region") == region
    ]
    return sorted(found, key=lambda server: server["name"])


def _version_key(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]
