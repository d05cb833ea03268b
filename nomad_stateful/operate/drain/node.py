"""The Nomad client that is drained: what runs on it, and whether it has let go of a volume."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nomad_stateful.ebs.volumes import EbsVolumes, is_ebs_volume
from nomad_stateful.nomad import clients
from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.clients import Client
from nomad_stateful.nomad.paths import volume_path
from nomad_stateful.nomad.running_job import ENDED
from nomad_stateful.nomad.volume_claims import claims
from nomad_stateful.operate.errors import OperateError
from nomad_stateful.recovery.plan import stray_plans
from nomad_stateful.recovery.volume_usage import inspect_volume
from nomad_stateful.waiting import Stopwatch

_SHORTEST_ID = 4
STRAY_AFTER_S = 10.0
"""How long a volume may be attached where nothing claims it: Nomad detaches after it has released the claim."""


@dataclass(frozen=True)
class HeldVolume:
    """A CSI volume that an allocation on the client has."""

    namespace: str
    id: str
    external_id: str
    plugin_id: str
    topologies: tuple[Mapping[str, str], ...] = ()
    """Where it can be reached; empty: everywhere."""


@dataclass(frozen=True)
class Allocation:
    """One allocation on the client that has not ended."""

    id: str
    name: str
    namespace: str
    job_id: str
    job_type: str
    """service, batch, system or sysbatch."""
    is_plugin: bool
    desired: str
    job: Mapping[str, Any]
    volumes: tuple[HeldVolume, ...] = ()

    @property
    def is_system(self) -> bool:
        return self.job_type in ("system", "sysbatch")

    @property
    def is_batch(self) -> bool:
        return self.job_type == "batch"

    @property
    def is_consumer(self) -> bool:
        """Whether it uses CSI volumes, and is no plugin."""
        return bool(self.volumes) and not self.is_plugin

    def __str__(self) -> str:
        return f"{self.job_id} ({self.id[:8]})"


def find(api: NomadApi, wanted: str) -> Client:
    """Returns the client of that name, id (or its beginning) or EC2 instance id. Raises OperateError, NomadError."""
    stubs = clients.listed(api)
    if wanted.startswith("i-"):
        found = [one.id for one in clients.read(api, stubs) if one.instance_id == wanted]
    else:
        by_id = [one.id for one in stubs if len(wanted) >= _SHORTEST_ID and one.id.startswith(wanted.lower())]
        # A client that was replaced may have left its name behind, down.
        named = [one for one in stubs if one.name == wanted]
        found = by_id or [one.id for one in named if one.status == "ready" or len(named) == 1]
    if len(found) == 1:
        return clients.get(api, found[0])
    names = ", ".join(f"{one.name} ({one.id[:8]}, {one.status})" for one in stubs) or "none"
    said = f"there are {len(found)} clients" if found else "there is no client"
    raise OperateError(
        f"NODE is {wanted}: {said} of that name, id or instance id. Use one of {names}; the id where a name is doubled"
    )


def allocations(api: NomadApi, node_id: str) -> list[Allocation]:
    """Returns what runs on a client, with the volumes of each; what has ended is left out. Raises NomadError."""
    listed = api.get(f"node/{node_id}/allocations") or []
    return [_allocation(api, body) for body in listed if body.get("ClientStatus") not in ENDED]


def _allocation(api: NomadApi, body: Mapping[str, Any]) -> Allocation:
    job = body.get("Job") or {}
    groups = [group for group in job.get("TaskGroups") or [] if group.get("Name") == body.get("TaskGroup")]
    tasks = [task for group in groups for task in group.get("Tasks") or []]
    return Allocation(
        id=body["ID"],
        name=str(body.get("Name") or ""),
        namespace=str(body.get("Namespace") or "default"),
        job_id=str(body.get("JobID") or ""),
        job_type=str(job.get("Type") or "service"),
        is_plugin=any(task.get("CSIPluginConfig") for task in tasks),
        desired=str(body.get("DesiredStatus") or ""),
        job=job,
        volumes=tuple(_volumes(api, body, groups)),
    )


def _volumes(api: NomadApi, body: Mapping[str, Any], groups: list[Mapping[str, Any]]) -> Iterator[HeldVolume]:
    namespace = str(body.get("Namespace") or "default")
    for group in groups:
        for request in (group.get("Volumes") or {}).values():
            if request.get("Type") != "csi":
                continue
            # Its name ends with its index: job.group[2].
            index = str(body.get("Name") or "").rpartition("[")[2] if request.get("PerAlloc") else ""
            volume_id = f"{request['Source']}[{index}" if index else str(request["Source"])
            yield held_volume(namespace, volume_id, api.find(volume_path(volume_id), namespace=namespace) or {})


def held_volume(namespace: str, volume_id: str, body: Mapping[str, Any]) -> HeldVolume:
    """Returns a volume by the body of /v1/volume/csi/<id>, empty where it is not registered."""
    segments = (topology.get("Segments") or {} for topology in body.get("Topologies") or [])
    return HeldVolume(
        namespace=namespace,
        id=volume_id,
        external_id=str(body.get("ExternalID") or ""),
        plugin_id=str(body.get("PluginID") or ""),
        topologies=tuple(one for one in segments if one),
    )


@dataclass
class LettingGo:
    """One volume on its way off a client."""

    api: NomadApi
    ebs: EbsVolumes | None
    node: Client
    volume: HeldVolume
    allocation_ids: Sequence[str] = ()
    """Those that had it, for claims that Nomad knows no client of any more."""
    _unclaimed: Stopwatch | None = field(default=None, init=False)

    def holds(self) -> str:
        """Returns what still holds it on the client, empty once nothing does. Raises ProviderError.

        An attachment that nothing claims is ended where the client is known to have unmounted it.
        """
        body = self.api.find(volume_path(self.volume.id), namespace=self.volume.namespace)
        mine = [
            claim
            for claim in claims(body)
            if claim.node_id == self.node.id or (not claim.node_id and claim.alloc_id in self.allocation_ids)
        ]
        if mine:
            self._unclaimed = None
            return f"claimed by {', '.join(map(str, mine))}"
        here = self._attachment()
        if not here:
            return ""
        self._unclaimed = self._unclaimed or Stopwatch()
        if self._unclaimed.seconds < STRAY_AFTER_S:
            return here
        return self._end_stray() or here

    def where(self) -> str:
        """Returns what EC2 says of it now, for the result. Raises ProviderError."""
        if self.ebs is None or not is_ebs_volume(self.volume.external_id):
            return "no claim on this client"
        return str(self.ebs.state(self.volume.external_id))

    def _attachment(self) -> str:
        if self.ebs is None or not is_ebs_volume(self.volume.external_id) or not self.node.instance_id:
            return ""
        state = self.ebs.state(self.volume.external_id)
        here = [one for one in state.attachments if one.instance_id == self.node.instance_id]
        return f"attached to {here[0]}" if here else ""

    def _end_stray(self) -> str:
        """Detaches it where that is safe; returns the next step where it is not."""
        assert self.ebs is not None  # noqa: S101 - it has an attachment
        external_id = self.volume.external_id
        usage = inspect_volume(self.api, self.volume.namespace, self.volume.id, external_id, self.ebs)
        for plan in stray_plans(usage):
            step = plan.steps[0]
            if step.action != "ec2-detach":
                return f"{plan.problem}; next: {step}"
            self.ebs.detach(external_id, step.target)
        return ""
