"""Recovery plans for a volume that is not released: what is wrong, and the commands that fix it, safe ones first."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from nomad_stateful.ebs.volumes import Attachment
from nomad_stateful.nomad.clients import GONE, Client
from nomad_stateful.nomad.running_job import LIVE
from nomad_stateful.nomad.volume_claims import Claim
from nomad_stateful.recovery.volume_usage import VolumeUsage

Action = Literal["await", "ec2-detach", "purge-client", "stop-instance", "by-hand"]
SAFE: frozenset[Action] = frozenset({"await", "ec2-detach", "purge-client"})
"""Actions that are proposed only where nothing can write to the volume any more."""

# `not-found` is an instance that EC2 has forgotten.
_OFF = frozenset({"stopped", "terminated", "not-found"})
_STOPPING = frozenset({"stopping", "shutting-down"})


@dataclass(frozen=True)
class Step:
    """One command; `target` is the client or instance it acts on. `await` needs no command, only time."""

    action: Action
    target: str
    command: str
    why: str

    def __str__(self) -> str:
        return f"`{self.command}`: {self.why}"


@dataclass(frozen=True)
class RecoveryPlan:
    """One problem, and the steps that fix it."""

    problem: str
    steps: Sequence[Step]


def recovery_plans(usage: VolumeUsage, *, wanted_free: bool) -> list[RecoveryPlan]:
    """Returns a plan for each claim and attachment that should not be there, worst first.

    A running allocation's claim is in order, unless the volume is wanted free.
    """
    found = [
        *[_lost_client(usage, claim, client) for claim, client in _claims(usage) if _is_lost(claim, client)],
        *[_stale_claim(usage, claim, client) for claim, client in _claims(usage) if _is_stale(claim, client)],
        *stray_plans(usage),
    ]
    if wanted_free:
        found += [_live_claim(usage, claim) for claim, client in _claims(usage) if _is_live(claim, client)]
    return found


def dead_claims(usage: VolumeUsage) -> list[Claim]:
    """Returns the claims of allocations that have ended, or whose client is away."""
    return [claim for claim, client in _claims(usage) if not _is_live(claim, client)]


def stray_plans(usage: VolumeUsage) -> list[RecoveryPlan]:
    """Returns a plan for each attachment that no claim accounts for."""
    return [_stray_attachment(usage, attachment) for attachment in _stray_attachments(usage)]


def _claims(usage: VolumeUsage) -> Iterator[tuple[Claim, Client | None]]:
    for claim in usage.claims:
        yield claim, usage.client_of(claim)


def _is_lost(claim: Claim, client: Client | None) -> bool:
    away = client is not None and client.status != "ready"
    return away or (client is None and claim.status in {"lost", "unknown"})


def _is_live(claim: Claim, client: Client | None) -> bool:
    return claim.status in LIVE and not _is_lost(claim, client)


def _is_stale(claim: Claim, client: Client | None) -> bool:
    return not _is_live(claim, client) and not _is_lost(claim, client)


def _live_claim(usage: VolumeUsage, claim: Claim) -> RecoveryPlan:
    scope = f"-namespace {claim.namespace or usage.namespace}"
    problem = f"{claim} uses it"
    if claim.job_id and claim.job_id not in usage.stopped_jobs:
        step = Step("by-hand", "", f"nomad job stop {scope} {claim.job_id}", "it unmounts and detaches the volume")
    else:
        command = f"nomad alloc status {scope} {claim.alloc_id[:8]}"
        step = Step("by-hand", "", command, "shows what it is still doing before it ends")
    return RecoveryPlan(problem, [step])


def _lost_client(usage: VolumeUsage, claim: Claim, client: Client | None) -> RecoveryPlan:
    """The client does not answer: it is off, or it is cut off and its tasks may go on writing."""
    node_id = client.id if client else claim.node_id
    problem = f"{claim} claims it, and {client or f'client {node_id[:8]}'} is {client.status if client else 'away'}"
    instance_id = _instance_of(usage, client)
    if not instance_id:
        if client is not None and client.status == GONE:
            why = f"Nomad no longer knows client {node_id[:8]}, so it drops that client's claims"
            return RecoveryPlan(problem, [_await(usage, why)])
        return RecoveryPlan(problem, [_unknown_instance(node_id)])
    state = usage.instance_state(instance_id)
    problem += f"; its instance {instance_id} is {state}"
    if state in _STOPPING:
        wait = f"aws ec2 wait instance-stopped --instance-ids {instance_id}"
        return RecoveryPlan(problem, [Step("by-hand", instance_id, wait, "then the volume can be detached")])
    if state not in _OFF:
        return RecoveryPlan(problem, [_fence(instance_id, state)])
    return RecoveryPlan(problem, _release(usage, claim, client, instance_id))


def _release(usage: VolumeUsage, claim: Claim, client: Client | None, instance_id: str) -> list[Step]:
    """Nothing runs on the instance any more: Nomad's claim and EC2's attachment can go."""
    nobody = f"the instance {instance_id} is {usage.instance_state(instance_id)}, so nothing writes there any more"
    waits = claim.status == "unknown"
    if client is not None and usage.has_node_plugin(client) and not waits:
        return [_await(usage, nobody)]
    # Nomad does not know the client's instance, or will not once it is purged, so it cannot ask for the detachment.
    steps = [
        _ec2_detach(usage, item)
        for item in (usage.attached.attachments if usage.attached else ())
        if item.instance_id == instance_id and usage.instance_state(instance_id) == "stopped"
    ]
    if client is None or client.status == GONE:
        return [*steps, _await(usage, nobody)]
    cause = (
        "Nomad keeps the allocation for the client until the job's lost_after is over, and starts no other until then"
        if waits
        else f"the node plugin {usage.plugin_id} had not registered again on that client when it went away, so Nomad "
        "cannot detach there"
    )
    why = f"{cause}; purging the client drops its claims, and it registers again if it comes back"
    purge = Step("purge-client", client.id, _purge(client.id), why)
    return [*steps, purge, _await(usage, nobody)]


def _stale_claim(usage: VolumeUsage, claim: Claim, client: Client | None) -> RecoveryPlan:
    problem = f"{claim} claims it, but does not run"
    if client is None:
        command = f"nomad alloc status -namespace {claim.namespace or usage.namespace} {claim.alloc_id[:8]}"
        return RecoveryPlan(problem, [Step("by-hand", "", command, "shows what it is still doing")])
    if usage.plugin_id and not usage.has_node_plugin(client):
        why = f"the node plugin must run on {client.name} to unmount the volume there"
        return RecoveryPlan(problem, [Step("by-hand", "", f"nomad plugin status -verbose {usage.plugin_id}", why)])
    attachments = usage.attached.attachments if usage.attached else ()
    if any(one.instance_id == client.instance_id and one.state == "busy" for one in attachments):
        problem += f", and EC2 waits until {client.instance_id} has it unmounted, which Nomad does not ask for again"
        return RecoveryPlan(problem, [_still_mounted(client.instance_id)])
    return RecoveryPlan(problem, [_await(usage, f"the node plugin on {client.name} unmounts it first")])


def _stray_attachments(usage: VolumeUsage) -> list[Attachment]:
    """Returns the attachments to instances whose clients have no claim; none while a claim's client is unknown."""
    claimed = {client.instance_id for _, client in _claims(usage) if client is not None}
    unknown = any(client is None or client.status == GONE for _, client in _claims(usage))
    attachments = usage.attached.attachments if usage.attached else ()
    return [] if unknown else [item for item in attachments if item.instance_id not in claimed]


def _stray_attachment(usage: VolumeUsage, attachment: Attachment) -> RecoveryPlan:
    instance_id = attachment.instance_id
    state = usage.instance_state(instance_id)
    problem = f"{usage.external_id} is attached to {attachment}, where nothing claims it; the instance is {state}"
    if state in _OFF:
        return RecoveryPlan(problem, [_ec2_detach(usage, attachment)])
    if (client := usage.client_on(instance_id)) and client.id in usage.unmounted and attachment.state == "attached":
        why = f"{client} has unmounted it and runs nothing that uses it; Nomad did not ask for the detachment"
        return RecoveryPlan(problem, [Step("ec2-detach", instance_id, _detach(usage, instance_id), why)])
    if attachment.state in {"detaching", "busy"}:
        return RecoveryPlan(problem, [_still_mounted(instance_id)])
    why = "without --force EC2 waits until it is unmounted"
    return RecoveryPlan(problem, [Step("by-hand", instance_id, _detach(usage, instance_id), why)])


def _still_mounted(instance_id: str) -> Step:
    why = (
        "EC2 waits until nothing there has it mounted: unmount it in the instance, or stop the instance. Do not "
        "force-detach: data that is not written yet would be lost"
    )
    return Step("stop-instance", instance_id, _stop(instance_id), why)


def _await(usage: VolumeUsage, why: str) -> Step:
    """Nomad's own collection of claims; `nomad volume detach` of 1.11 refuses every call (Unknown allocation)."""
    said = (
        f"{why}. Nothing to do: Nomad releases the claim within csi_volume_claim_gc_interval (5 minutes by default) or "
        "as soon as any CSI volume is registered; this shows whether it has"
    )
    return Step("await", "", f"nomad volume status -namespace {usage.namespace} {usage.volume_id}", said)


def _purge(node_id: str) -> str:
    return f"nomad operator api -X PUT /v1/node/{node_id}/purge"


def _fence(instance_id: str, state: str) -> Step:
    why = (
        f"EC2 says it is {state}, so it may only be cut off and its tasks may still write. Once it is stopped (or "
        f"terminated, if it is no longer wanted: `aws ec2 terminate-instances --instance-ids {instance_id}`) "
        "nothing can, and the volume is detached. If the client comes back instead, it releases the volume itself"
    )
    return Step("stop-instance", instance_id, _stop(instance_id), why)


def _stop(instance_id: str) -> str:
    return f"aws ec2 stop-instances --instance-ids {instance_id}"


def _detach(usage: VolumeUsage, instance_id: str) -> str:
    return f"aws ec2 detach-volume --volume-id {usage.external_id} --instance-id {instance_id}"


def _ec2_detach(usage: VolumeUsage, attachment: Attachment) -> Step:
    return Step(
        "ec2-detach",
        attachment.instance_id,
        _detach(usage, attachment.instance_id),
        f"the instance is {usage.instance_state(attachment.instance_id)}, so nothing has it mounted",
    )


def _unknown_instance(node_id: str) -> Step:
    return Step(
        "by-hand",
        node_id,
        f"nomad node status {node_id}",
        f"if that client comes back it releases the volume; if its machine is off for good, `{_purge(node_id)}` "
        "removes the client and its claims from Nomad",
    )


def _instance_of(usage: VolumeUsage, client: Client | None) -> str:
    """Returns a client's instance id; for a client Nomad no longer knows, the only one the volume is attached to."""
    if client is not None and client.instance_id:
        return client.instance_id
    places = [item.instance_id for item in usage.attached.attachments] if usage.attached else []
    return places[0] if len(places) == 1 else ""
