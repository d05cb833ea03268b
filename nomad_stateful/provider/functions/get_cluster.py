"""getCluster: what the Nomad cluster offers, for refusing impossible configurations before the first resource."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.fingerprint import ZONE_ATTRIBUTE
from nomad_stateful.plugin_server.plugin import Props
from nomad_stateful.provider.declared import DeclaredFunction
from nomad_stateful.schema.get_cluster import GET_CLUSTER
from nomad_stateful.waiting import Context

_PARALLEL = 8


class GetCluster(DeclaredFunction):
    """Reads the servers' versions and every client's version, zone, state, drivers and resources."""

    table = GET_CLUSTER

    def __init__(self, api: Callable[[], NomadApi]) -> None:
        self._api = api

    def invoke(self, ctx: Context, args: Props) -> Props:
        self.table.arguments(args)
        api = self._api()
        api.reach()
        stubs = api.get("nodes")
        with ThreadPoolExecutor(_PARALLEL) as pool:
            whole = list(pool.map(lambda stub: _whole(api, stub), stubs))
        nodes = [_node(stub, known) for stub, known in zip(stubs, whole, strict=True)]
        nodes.sort(key=lambda node: (node["name"], node["id"]))
        ready = {node["zone"] for node in nodes if node["status"] == "ready" and node["zone"]}
        servers = _servers(api)
        oldest = min((server["version"] for server in servers), key=_version_key, default="")
        return {"version": oldest, "servers": servers, "nodes": nodes, "zones": sorted(ready)}


def _whole(api: NomadApi, stub: Mapping[str, Any]) -> Mapping[str, Any]:
    # One that was collected in between is not there.
    node: Mapping[str, Any] = api.find(f"node/{stub['ID']}") or {}
    return node


def _node(stub: Mapping[str, Any], whole: Mapping[str, Any]) -> Props:
    drivers = stub.get("Drivers") or {}
    attributes = whole.get("Attributes") or {}
    return {
        "id": stub["ID"],
        "name": stub["Name"],
        "version": stub.get("Version") or "",
        "zone": attributes.get(ZONE_ATTRIBUTE, ""),
        "status": stub["Status"],
        "eligibility": stub["SchedulingEligibility"],
        "datacenter": stub["Datacenter"],
        "nodePool": stub.get("NodePool", ""),
        "drivers": sorted(name for name, driver in drivers.items() if driver and driver.get("Healthy")),
        "cpuMhz": _for_jobs(whole, "Cpu", "CpuShares"),
        "memoryMib": _for_jobs(whole, "Memory", "MemoryMB"),
    }


def _for_jobs(whole: Mapping[str, Any], kind: str, unit: str) -> int:
    """Returns what a client has of a resource, without what it keeps for itself."""
    of_all, reserved = (((whole.get(f"{which}Resources") or {}).get(kind) or {}) for which in ("Node", "Reserved"))
    return int(of_all.get(unit) or 0) - int(reserved.get(unit) or 0)


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
