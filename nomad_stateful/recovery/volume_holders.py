"""Who holds a CSI volume: allocations in Nomad, their clients, the instances those are, and EC2's attachments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote

from nomad_stateful.ebs.attachment import EbsState, EbsVolumes
from nomad_stateful.nomad.api import NomadApi, NomadNotFound
from nomad_stateful.nomad.unmounted import has_unmounted
from nomad_stateful.nomad.volume_claims import Claim, claims
from nomad_stateful.plugin_server.values import ProviderError

INSTANCE_ATTRIBUTE = "unique.platform.aws.instance-id"
GONE = "gone"


@dataclass(frozen=True)
class Client:
    """A Nomad client that holds the volume, or whose instance does."""

    node_id: str
    name: str
    status: str
    """ready, down, disconnected or initializing; gone where Nomad has forgotten it."""
    instance_id: str
    """Empty where the client is no EC2 instance, or is gone."""
    has_node_plugin: bool
    """Whether Nomad knows which instance the storage's plugin calls it."""
    has_unmounted: bool = False
    """Whether it is known to have unmounted the volume and to run nothing that uses it (unmounted.py)."""

    def __str__(self) -> str:
        return f"client {self.name or self.node_id[:8]} ({self.node_id[:8]})"


@dataclass(frozen=True)
class Holders:
    """Everything that keeps a volume from being used elsewhere."""

    volume_id: str
    namespace: str
    plugin_id: str
    external_id: str
    claims: Sequence[Claim] = ()
    clients: Mapping[str, Client] = field(default_factory=dict)
    """By node id."""
    attached: EbsState | None = None
    """EC2's word; None where it is no EBS volume, or EC2 does not say."""
    instances: Mapping[str, str] = field(default_factory=dict)
    """EC2's state of each instance that matters, by its id."""
    trouble: str = ""
    """Why EC2's part is missing."""
    stopped_jobs: frozenset[str] = frozenset()
    """Jobs among the claims that are stopped or purged."""

    def client_of(self, claim: Claim) -> Client | None:
        """The client of a claim; of one whose allocation Nomad has forgotten, the one that EC2 has it attached to."""
        if claim.node_id:
            return self.clients.get(claim.node_id)
        places = {item.instance_id for item in self.attached.attachments} if self.attached else set()
        return next((client for client in self.clients.values() if client.instance_id in places), None)

    def client_on(self, instance_id: str) -> Client | None:
        """The client that an instance is."""
        return next((client for client in self.clients.values() if client.instance_id == instance_id), None)

    def instance_state(self, instance_id: str) -> str:
        """EC2's state of an instance; unknown where EC2 does not say."""
        return self.instances.get(instance_id, "unknown")

    def lines(self) -> Iterator[str]:
        """The holders for a person, one line each."""
        for claim in self.claims:
            yield f"{claim} claims it"
        for client in self.clients.values():
            if client.status != "ready" or self.instances.get(client.instance_id, "running") != "running":
                instance = client.instance_id
                where = f"; its instance {instance} is {self.instance_state(instance)}" if instance else ""
                yield f"{client} is {client.status}{where}"
        if self.attached is not None:
            states = {item.instance_id: self.instance_state(item.instance_id) for item in self.attached.attachments}
            said = "".join(f"; {instance} is {state}" for instance, state in sorted(states.items()))
            yield f"{self.external_id} is {self.attached}{said}"
        if self.trouble:
            yield f"{self.external_id} is in a state that EC2 does not tell ({self.trouble})"


def look(api: NomadApi, namespace: str, volume_id: str, external_id: str, ebs: EbsVolumes | None) -> Holders:
    """Asks Nomad and, with `ebs`, EC2. What EC2 does not answer is in `trouble`. Raises NomadError."""
    volume = _get(api, f"volume/csi/{quote(volume_id, safe='')}", namespace)
    held = claims(volume)
    plugin_id = str((volume or {}).get("PluginID") or "")
    attached, trouble = _attached(ebs, external_id)
    clients = {node_id: _client(api, node_id, plugin_id) for node_id in {claim.node_id for claim in held} - {""}}
    known = {client.instance_id for client in clients.values()}
    strange = {item.instance_id for item in attached.attachments} - known if attached else set()
    for client in _clients_on(api, strange, plugin_id) if strange else []:
        unmounted = has_unmounted(api, client.node_id, plugin_id, namespace, volume_id)
        clients.setdefault(client.node_id, replace(client, has_unmounted=unmounted))
    wanted = sorted((known | strange) - {""})
    states: Mapping[str, str] = {}
    if ebs is not None and wanted:
        try:
            states = ebs.instance_states(wanted)
        except ProviderError as error:
            trouble = trouble or str(error)
    return Holders(
        volume_id,
        namespace,
        plugin_id,
        external_id,
        held,
        clients,
        attached,
        states,
        trouble,
        frozenset(claim.job_id for claim in held if claim.job_id and _is_stopped(api, claim)),
    )


def _attached(ebs: EbsVolumes | None, external_id: str) -> tuple[EbsState | None, str]:
    if ebs is None:
        return None, ""
    try:
        return ebs.state(external_id), ""
    except ProviderError as error:
        return None, str(error)


def _client(api: NomadApi, node_id: str, plugin_id: str) -> Client:
    node = _get(api, f"node/{node_id}", None)
    return Client(node_id, "", GONE, "", has_node_plugin=False) if node is None else _of(node, plugin_id)


def _clients_on(api: NomadApi, instances: set[str], plugin_id: str) -> list[Client]:
    stubs = _get(api, "nodes", None) or []
    found = [_client(api, stub["ID"], plugin_id) for stub in stubs]
    return [client for client in found if client.instance_id in instances]


def _of(node: Mapping[str, Any], plugin_id: str) -> Client:
    plugin = (node.get("CSINodePlugins") or {}).get(plugin_id) or {}
    return Client(
        node_id=node["ID"],
        name=node.get("Name", ""),
        status=node.get("Status", ""),
        instance_id=(node.get("Attributes") or {}).get(INSTANCE_ATTRIBUTE, ""),
        has_node_plugin=bool((plugin.get("NodeInfo") or {}).get("ID")),
    )


def _is_stopped(api: NomadApi, claim: Claim) -> bool:
    job = _get(api, f"job/{quote(claim.job_id, safe='')}", claim.namespace)
    return job is None or bool(job.get("Stop")) or claim.desired == "stop"


def _get(api: NomadApi, path: str, namespace: str | None) -> Any | None:
    try:
        return api.get(path, namespace=namespace)
    except NomadNotFound:
        return None
