"""Where a consumer can go: clients that reach its volumes, and whether Nomad's scheduler finds room on one of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from nomad_stateful.nomad import clients
from nomad_stateful.nomad.api import NomadApi, NomadApiError
from nomad_stateful.nomad.clients import Client, ClientStub
from nomad_stateful.nomad.paths import job_path, plugin_path
from nomad_stateful.operate.drain.node import Allocation, HeldVolume

Json = Mapping[str, Any]


class Places:
    """The clients that may take what leaves one of them."""

    def __init__(self, api: NomadApi, leaving: Client) -> None:
        """Reads the clients once. Raises NomadError."""
        self._api = api
        self._leaving = leaving
        self._plugins: dict[str, Json] = {}
        self.others = [stub for stub in clients.listed(api) if stub.id != leaving.id and stub.takes_work]
        """The other clients that get new allocations."""

    def of(self, allocation: Allocation) -> list[str]:
        """Returns the names of clients that reach all its volumes and that its job admits. Raises NomadError."""
        return [
            stub.name
            for stub in self.others
            if _admits(allocation.job, stub) and all(self._reaches(stub.id, one) for one in allocation.volumes)
        ]

    def obstacles(self, allocation: Allocation) -> list[str]:
        """Returns why Nomad would place it nowhere, empty where it would or where that is not known. Raises NomadError.

        The scheduler plans the job with a constraint that leaves the client out. It does not for several instances:
        of those it plans a part only.
        """
        if sum(int(group.get("Count") or 0) for group in allocation.job.get("TaskGroups") or []) != 1:
            return []
        away = {"LTarget": "${node.unique.id}", "Operand": "!=", "RTarget": self._leaving.id}
        # As it is now: a version that is registered counts, not the one that the allocation was made of.
        job = self._api.find(job_path(allocation.job_id), namespace=allocation.namespace)
        if job is None or job.get("Stop"):
            return []
        planned = {**job, "Constraints": [*(job.get("Constraints") or []), away]}
        try:
            answer = self._api.put(
                f"{job_path(allocation.job_id)}/plan", {"Job": planned, "Diff": False}, namespace=allocation.namespace
            )
        except NomadApiError:
            return []  # a token that may not plan jobs
        return [why for failed in ((answer or {}).get("FailedTGAllocs") or {}).values() for why in _reasons(failed)]

    def why_none(self, allocation: Allocation) -> str:
        """Returns why no client can take it, by its volumes. Raises NomadError."""
        for volume in allocation.volumes:
            if not any(self._reaches(stub.id, volume) for stub in self.others):
                place = " or ".join(sorted({value for one in volume.topologies for value in one.values()}))
                where = f" in {place}" if place else ""
                plugin = f"a healthy node plugin {volume.plugin_id}"
                return f"volume {volume.id} needs {plugin}{where}, and no other eligible client has one"
        if not self.others:
            return "there is no other eligible client"
        return "no other eligible client is in its job's datacenters and node pool and reaches all its volumes"

    def _reaches(self, node_id: str, volume: HeldVolume) -> bool:
        if not volume.plugin_id:
            return False
        info = (self._plugin(volume.plugin_id).get("Nodes") or {}).get(node_id) or {}
        if not info.get("Healthy"):
            return False
        topology = (info.get("NodeInfo") or {}).get("AccessibleTopology") or {}
        known: Mapping[str, str] = topology.get("Segments") or {}
        return not volume.topologies or any(
            all(known.get(key) == value for key, value in wanted.items()) for wanted in volume.topologies
        )

    def _plugin(self, plugin_id: str) -> Json:
        if plugin_id not in self._plugins:
            self._plugins[plugin_id] = self._api.find(plugin_path(plugin_id)) or {}
        return self._plugins[plugin_id]


def _admits(job: Json, stub: ClientStub) -> bool:
    pool = str(job.get("NodePool") or "default")
    datacenters: Sequence[str] = job.get("Datacenters") or ["*"]
    return pool in ("all", stub.pool) and any(fnmatchcase(stub.datacenter, one) for one in datacenters)


def _reasons(failed: Json) -> Iterator[str]:
    for why, count in {**(failed.get("ConstraintFiltered") or {}), **(failed.get("DimensionExhausted") or {})}.items():
        # Of the client itself, and of clients like one that is named.
        if "${node.unique.id}" not in why and why != "computed class ineligible":
            yield f"{why} ({count} client{'s' if count != 1 else ''})"
