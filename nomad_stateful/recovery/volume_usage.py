"""What uses a CSI volume: claims in Nomad, their clients and instances, and EC2's attachments."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nomad_stateful.ebs.volumes import EbsVolumes, Volume
from nomad_stateful.errors import ProviderError
from nomad_stateful.nomad import clients
from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.clients import Client
from nomad_stateful.nomad.paths import job_path, volume_path
from nomad_stateful.nomad.volume_claims import Claim, claims

_ENDED = frozenset({"complete", "failed"})


@dataclass(frozen=True)
class VolumeUsage:
    """Everything that keeps a volume from being mounted elsewhere."""

    volume_id: str
    namespace: str
    plugin_id: str
    external_id: str
    claims: Sequence[Claim] = ()
    clients: Mapping[str, Client] = field(default_factory=dict)
    """Those with a claim on it, or whose instance has it attached, by id."""
    unmounted: frozenset[str] = frozenset()
    """Ids of clients that are known to have unmounted it and to run nothing that uses it."""
    attached: Volume | None = None
    """EC2's answer; None where it is not an EBS volume, or EC2 did not answer."""
    instances: Mapping[str, str] = field(default_factory=dict)
    """EC2's state of each instance involved, by its id."""
    ec2_error: str = ""
    """Why EC2's part is missing."""
    stopped_jobs: frozenset[str] = frozenset()
    """Jobs among the claims that are stopped or purged."""

    def client_of(self, claim: Claim) -> Client | None:
        """Returns a claim's client; if its allocation was garbage-collected, the one that has the volume attached."""
        if claim.node_id:
            return self.clients.get(claim.node_id)
        places = {item.instance_id for item in self.attached.attachments} if self.attached else set()
        return next((client for client in self.clients.values() if client.instance_id in places), None)

    def has_node_plugin(self, client: Client) -> bool:
        """Returns whether Nomad knows the node id that the volume's CSI plugin gave a client."""
        return bool(client.plugin_node(self.plugin_id).get("ID"))

    def client_on(self, instance_id: str) -> Client | None:
        """Returns the client that runs on an instance."""
        return next((client for client in self.clients.values() if client.instance_id == instance_id), None)

    def instance_state(self, instance_id: str) -> str:
        """Returns EC2's state of an instance; unknown where EC2 does not say."""
        return self.instances.get(instance_id, "unknown")

    def lines(self) -> Iterator[str]:
        """Yields a line for each claim, each client that is not ready, and the attachment."""
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
        if self.ec2_error:
            yield f"{self.external_id} is in an unknown state ({self.ec2_error})"


def inspect_volume(
    api: NomadApi, namespace: str, volume_id: str, external_id: str, ebs: EbsVolumes | None
) -> VolumeUsage:
    """Asks Nomad and, with `ebs`, EC2; an error of EC2 ends up in `ec2_error`. Raises NomadError."""
    volume = api.find(volume_path(volume_id), namespace=namespace)
    held = claims(volume)
    plugin_id = str((volume or {}).get("PluginID") or "")
    attached, ec2_error = _attached(ebs, external_id)
    ids = {claim.node_id for claim in held} - {""}
    involved = {one: clients.find(api, one) or clients.gone(one) for one in ids}
    known = {client.instance_id for client in involved.values()}
    unclaimed = {item.instance_id for item in attached.attachments} - known if attached else set()
    others = [one for one in clients.read(api) if one.instance_id in unclaimed] if unclaimed else []
    unmounted = [one.id for one in others if _has_unmounted(api, one, plugin_id, namespace, volume_id)]
    wanted = sorted((known | unclaimed) - {""})
    states: Mapping[str, str] = {}
    if ebs is not None and wanted:
        try:
            states = ebs.instance_states(wanted)
        except ProviderError as error:
            ec2_error = ec2_error or str(error)
    return VolumeUsage(
        volume_id,
        namespace,
        plugin_id,
        external_id,
        held,
        involved | {one.id: one for one in others},
        frozenset(unmounted),
        attached,
        states,
        ec2_error,
        frozenset(claim.job_id for claim in held if claim.job_id and _is_stopped(api, claim)),
    )


def _attached(ebs: EbsVolumes | None, external_id: str) -> tuple[Volume | None, str]:
    if ebs is None:
        return None, ""
    try:
        return ebs.state(external_id), ""
    except ProviderError as error:
        return None, str(error)


def _is_stopped(api: NomadApi, claim: Claim) -> bool:
    job = api.find(job_path(claim.job_id), namespace=claim.namespace)
    return job is None or bool(job.get("Stop")) or claim.desired == "stop"


def _has_unmounted(api: NomadApi, client: Client, plugin_id: str, namespace: str, volume_id: str) -> bool:
    """Returns whether the client's last event on the volume is an unmount, and none of its allocations uses the volume.

    False where that is not known: a client keeps its last ten events only. Raises NomadError.
    https://github.com/hashicorp/nomad/blob/v1.11.3/client/pluginmanager/csimanager/volume.go (unmountVolumeImpl)
    """
    if client.status != "ready" or not client.has_healthy_plugin(plugin_id):
        return False
    if not _last_event_is_unmount(client, volume_id):
        return False
    allocations = api.find(f"node/{client.id}/allocations", namespace=namespace) or []
    if any(_uses(allocation, namespace, volume_id) for allocation in allocations):
        return False
    # An event names a volume by its id alone.
    listed = api.get("volumes", type="csi", namespace="*") or []
    return not any(volume["ID"] == volume_id and volume["Namespace"] != namespace for volume in listed)


def _last_event_is_unmount(client: Client, volume_id: str) -> bool:
    events = [event for event in client.events if (event.get("Details") or {}).get("volume_id") == volume_id]
    if not events:
        return False
    return events[-1].get("Message") == "Unmount volume" and events[-1]["Details"].get("success") == "true"


def _uses(allocation: Mapping[str, Any], namespace: str, volume_id: str) -> bool:
    if allocation.get("Namespace") != namespace or allocation.get("ClientStatus") in _ENDED:
        return False
    groups = (allocation.get("Job") or {}).get("TaskGroups") or []
    requests = (
        request
        for group in groups
        if group.get("Name") == allocation.get("TaskGroup")
        for request in (group.get("Volumes") or {}).values()
    )
    return any(
        request.get("Type") == "csi"
        and (request.get("Source") == volume_id or volume_id.startswith(f"{request.get('Source')}["))
        for request in requests
    )
