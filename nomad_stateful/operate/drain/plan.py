"""What a drain would do: who leaves the client, with which volumes, and where each can go."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from nomad_stateful.ebs.volumes import is_ebs_volume
from nomad_stateful.nomad import clients
from nomad_stateful.nomad.api import NomadApi, NomadApiError
from nomad_stateful.nomad.clients import Client, ClientStub
from nomad_stateful.nomad.paths import job_path, plugin_path, volume_path
from nomad_stateful.operate.drain.node import Allocation, HeldVolume, allocations, held_volume

Json = Mapping[str, Any]


@dataclass(frozen=True)
class Leaving:
    """A consumer of volumes that leaves the client."""

    allocation: Allocation
    clients: Sequence[str]
    """Names of the clients that can take it."""
    stays_down: str = ""
    """Why it cannot start anywhere else; empty where it can."""


@dataclass(frozen=True)
class DrainPlan:
    """A client, and everything that a drain of it stops."""

    node: Client
    consumers: Sequence[Leaving]
    others: Sequence[Allocation]
    """Allocations without CSI volumes that are no plugins."""
    plugins: Sequence[Allocation]
    """Allocations of CSI plugins, which stop last."""
    system: Sequence[Allocation]
    """Allocations of other system jobs."""
    left_attached: Sequence[HeldVolume] = ()
    """Volumes that EC2 has attached to the instance, and that nothing on the client uses."""

    @property
    def down(self) -> list[Leaving]:
        """Consumers that nowhere else can run."""
        return [one for one in self.consumers if one.stays_down]

    def is_done(self, *, keep_system: bool) -> bool:
        """Whether nothing is left to do."""
        last = [one for one in [*self.plugins, *self.system] if not (keep_system and one.is_system)]
        node = self.node
        return not (node.eligible or node.draining or self.consumers or self.others or self.left_attached or last)


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


def make(api: NomadApi, node: Client, attached: Sequence[str]) -> DrainPlan:
    """Returns the plan; `attached` are the ids of EBS volumes attached to the client's instance. Raises NomadError."""
    running = allocations(api, node.id)
    places = Places(api, node)
    consumers = [leaving(places, one) for one in running if one.is_consumer]
    held = {volume.external_id for one in consumers for volume in one.allocation.volumes}
    return DrainPlan(
        node=node,
        consumers=consumers,
        others=[one for one in running if not one.is_consumer and not one.is_plugin and not one.is_system],
        plugins=[one for one in running if one.is_plugin],
        system=[one for one in running if one.is_system and not one.is_plugin and not one.is_consumer],
        left_attached=_left_attached(api, [one for one in attached if one not in held]),
    )


def leaving(places: Places, allocation: Allocation) -> Leaving:
    """Returns a consumer with where it can go now. Raises NomadError."""
    if allocation.is_batch or allocation.is_system:
        return Leaving(allocation, [])  # one that ends by itself, or is bound to its client
    clients = places.of(allocation)
    if not clients:
        return Leaving(allocation, [], places.why_none(allocation))
    obstacles = places.obstacles(allocation)
    if obstacles:
        return Leaving(allocation, [], f"Nomad finds no room for it: {'; '.join(obstacles)}")
    return Leaving(allocation, clients)


def _left_attached(api: NomadApi, external_ids: Sequence[str]) -> list[HeldVolume]:
    """Returns those of the volumes that are registered with Nomad."""
    wanted = {one for one in external_ids if is_ebs_volume(one)}
    listed: Sequence[dict[str, Any]] = (api.get("volumes", type="csi", namespace="*") or []) if wanted else []
    return [
        held_volume(one["Namespace"], one["ID"], api.find(volume_path(one["ID"]), namespace=one["Namespace"]) or {})
        for one in listed
        if one.get("ExternalID") in wanted
    ]


def as_object(plan: DrainPlan) -> dict[str, Any]:
    """Returns the plan for scripts."""
    node = plan.node
    return {
        "node": {"id": node.id, "name": node.name, "instance": node.instance_id, "zone": node.zone},
        "consumers": [
            {
                "allocation": one.allocation.id,
                "namespace": one.allocation.namespace,
                "job": one.allocation.job_id,
                "type": one.allocation.job_type,
                "volumes": [{"id": volume.id, "externalId": volume.external_id} for volume in one.allocation.volumes],
                "clients": list(one.clients),
                "staysDown": one.stays_down or None,
            }
            for one in plan.consumers
        ],
        "others": [one.id for one in plan.others],
        "plugins": [one.id for one in plan.plugins],
        "system": [one.id for one in plan.system],
        "leftAttached": [volume.external_id for volume in plan.left_attached],
    }


def text(plan: DrainPlan, *, keep_system: bool) -> str:
    """Returns the plan for people, in the order in which things happen."""
    node = plan.node
    place = ", ".join(part for part in (node.id[:8], node.instance_id, node.zone) if part)
    lines = [f"drain of client {node.name} ({place}):"]
    lines.append(f"  1. no new allocations{'' if node.eligible else ' (it is ineligible)'}")
    lines.append(
        "  2. consumers of volumes stop, and each volume is seen detached" + ("" if plan.consumers else ": none")
    )
    lines += [f"       {_line(one)}" for one in plan.consumers]
    lines += [f"       nothing uses {one.external_id} ({one.id}), and it is attached" for one in plan.left_attached]
    lines.append(f"  3. everything else leaves: {_listed(plan.others)}")
    last = _listed([*plan.plugins, *plan.system])
    if keep_system:
        controllers = _listed([one for one in plan.plugins if not one.is_system])
        lines.append(f"  4. controllers leave: {controllers}; system jobs, node plugins among them, stay")
    else:
        lines.append(f"  4. plugins and system jobs stop last: {last}")
    return "\n".join(lines)


def _line(one: Leaving) -> str:
    volumes = ", ".join(volume.id for volume in one.allocation.volumes)
    if one.stays_down:
        where = f"CANNOT GO ANYWHERE: {one.stays_down}"
    elif one.allocation.is_batch:
        where = "is left to end by itself"
    elif one.allocation.is_system:
        where = "stops, as the job of every client"
    else:
        where = f"can go to {', '.join(one.clients)}"
    return f"{one.allocation} with volume {volumes}: {where}"


def _listed(found: Sequence[Allocation]) -> str:
    return ", ".join(map(str, found)) or "nothing"
