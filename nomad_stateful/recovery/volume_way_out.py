"""The way out of a volume that is not let go: what is wrong, and the exact next commands, safe ones first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from nomad_stateful.ebs.attachment import Attachment
from nomad_stateful.nomad.volume_claims import Claim
from nomad_stateful.recovery.volume_holders import GONE, Client, Holders

Action = Literal["await", "ec2-detach", "purge-client", "stop-instance", "by-hand"]
SAFE: frozenset[Action] = frozenset({"await", "ec2-detach", "purge-client"})
"""What can lose nothing where it is proposed: nobody can write to the volume any more."""

# An instance in one of these states runs nothing; `not-found` is one that EC2 has forgotten.
_OFF = frozenset({"stopped", "terminated", "not-found"})
_GOING_OFF = frozenset({"stopping", "shutting-down"})
_LIVE = frozenset({"pending", "running"})


@dataclass(frozen=True)
class Step:
    """One command; `target` is the client or instance it is about. `await` is done by waiting, too."""

    action: Action
    target: str
    command: str
    why: str

    def __str__(self) -> str:
        return f"`{self.command}`: {self.why}"


@dataclass(frozen=True)
class WayOut:
    """One thing that is wrong, and what ends it."""

    problem: str
    steps: Sequence[Step]


def ways_out(holders: Holders, *, wanted_free: bool) -> list[WayOut]:
    """What holds the volume and should not, worst first; with `wanted_free` nobody should.

    A volume that a running allocation uses is in order, unless it is wanted free.
    """
    found = [
        *[_lost(holders, claim, client) for claim, client in _claims(holders) if _is_lost(claim, client)],
        *[_left_over(holders, claim, client) for claim, client in _claims(holders) if _is_left_over(claim, client)],
        *strays(holders),
    ]
    if wanted_free:
        found += [_live(holders, claim) for claim, client in _claims(holders) if _is_live(claim, client)]
    return found


def strays(holders: Holders) -> list[WayOut]:
    """Where EC2 has the volume attached and nothing claims it."""
    return [_stray(holders, attachment) for attachment in _strays(holders)]


def _claims(holders: Holders) -> Iterator[tuple[Claim, Client | None]]:
    for claim in holders.claims:
        yield claim, holders.client_of(claim)


def _is_lost(claim: Claim, client: Client | None) -> bool:
    away = client is not None and client.status != "ready"
    return away or (client is None and claim.status in {"lost", "unknown"})


def _is_live(claim: Claim, client: Client | None) -> bool:
    return claim.status in _LIVE and not _is_lost(claim, client)


def _is_left_over(claim: Claim, client: Client | None) -> bool:
    return not _is_live(claim, client) and not _is_lost(claim, client)


def _live(holders: Holders, claim: Claim) -> WayOut:
    scope = f"-namespace {claim.namespace or holders.namespace}"
    problem = f"{claim} uses it"
    if claim.job_id and claim.job_id not in holders.stopped_jobs:
        step = Step("by-hand", "", f"nomad job stop {scope} {claim.job_id}", "it unmounts and detaches the volume")
    else:
        command = f"nomad alloc status {scope} {claim.alloc_id[:8]}"
        step = Step("by-hand", "", command, "shows what it is still doing before it ends")
    return WayOut(problem, [step])


def _lost(holders: Holders, claim: Claim, client: Client | None) -> WayOut:
    """The client does not answer: it is off, or it is cut off and its tasks may go on writing."""
    node_id = client.node_id if client else claim.node_id
    problem = f"{claim} claims it, and {client or f'client {node_id[:8]}'} is {client.status if client else 'away'}"
    instance_id = _instance_of(holders, client)
    if not instance_id:
        if client is not None and client.status == GONE:
            why = f"Nomad has forgotten client {node_id[:8]}, and with it what it claims"
            return WayOut(problem, [_await(holders, why)])
        return WayOut(problem, [_decide_by_hand(node_id)])
    state = holders.instance_state(instance_id)
    problem += f"; its instance {instance_id} is {state}"
    if state in _GOING_OFF:
        wait = f"aws ec2 wait instance-stopped --instance-ids {instance_id}"
        return WayOut(problem, [Step("by-hand", instance_id, wait, "then the volume can be taken off it")])
    if state not in _OFF:
        return WayOut(problem, [_fence(instance_id, state)])
    return WayOut(problem, _release(holders, node_id, client, instance_id))


def _release(holders: Holders, node_id: str, client: Client | None, instance_id: str) -> list[Step]:
    """Nothing runs on the instance any more: what Nomad and EC2 still hold there can go."""
    nobody = f"the instance {instance_id} is {holders.instance_state(instance_id)}, so nothing writes there any more"
    if client is not None and client.has_node_plugin:
        return [_await(holders, nobody)]
    # Nomad does not know the instance of the client, so it cannot ask for the detachment.
    steps = [
        _ec2_detach(holders, item)
        for item in (holders.attached.attachments if holders.attached else ())
        if item.instance_id == instance_id and holders.instance_state(instance_id) == "stopped"
    ]
    if client is None or client.status == GONE:
        return [*steps, _await(holders, nobody)]
    why = (
        f"the node plugin {holders.plugin_id} had not registered again on that client when it went away, so Nomad "
        "cannot detach there; a client that it has forgotten holds nothing, and registers anew should it come back"
    )
    purge = Step("purge-client", node_id, _purge(node_id), why)
    return [*steps, purge, _await(holders, nobody)]


def _left_over(holders: Holders, claim: Claim, client: Client | None) -> WayOut:
    problem = f"{claim} claims it, but does not run"
    if client is None:
        command = f"nomad alloc status -namespace {claim.namespace or holders.namespace} {claim.alloc_id[:8]}"
        return WayOut(problem, [Step("by-hand", "", command, "shows what it is still doing")])
    if not client.has_node_plugin and holders.plugin_id:
        why = f"the node plugin must run on {client.name or client.node_id[:8]} to unmount the volume there"
        return WayOut(problem, [Step("by-hand", "", f"nomad plugin status -verbose {holders.plugin_id}", why)])
    return WayOut(
        problem, [_await(holders, f"the node plugin on {client.name or client.node_id[:8]} unmounts it first")]
    )


def _strays(holders: Holders) -> list[Attachment]:
    """Attachments to instances where nobody claims the volume."""
    claimed = {client.instance_id for _, client in _claims(holders) if client is not None}
    unknown = any(client is None or client.status == GONE for _, client in _claims(holders))
    attachments = holders.attached.attachments if holders.attached else ()
    return [] if unknown else [item for item in attachments if item.instance_id not in claimed]


def _stray(holders: Holders, attachment: Attachment) -> WayOut:
    instance_id = attachment.instance_id
    state = holders.instance_state(instance_id)
    problem = f"{holders.external_id} is attached to {attachment}, where nothing claims it; the instance is {state}"
    if state in _OFF:
        return WayOut(problem, [_ec2_detach(holders, attachment)])
    if (client := holders.client_on(instance_id)) and client.has_unmounted and attachment.state == "attached":
        why = f"{client} has unmounted it and runs nothing that uses it; Nomad did not ask for the detachment"
        return WayOut(problem, [Step("ec2-detach", instance_id, _detach(holders, instance_id), why)])
    if attachment.state in {"detaching", "busy"}:
        hint = (
            "EC2 waits until nothing there has it mounted: unmount it in the instance, or stop the instance. Do not "
            "force the detachment, which loses what is not written yet"
        )
        return WayOut(problem, [Step("stop-instance", instance_id, _stop(instance_id), hint)])
    why = "without --force EC2 waits until it is unmounted"
    return WayOut(problem, [Step("by-hand", instance_id, _detach(holders, instance_id), why)])


def _await(holders: Holders, why: str) -> Step:
    """Nomad's own collection of claims; `nomad volume detach` of 1.11 refuses every call (Unknown allocation)."""
    said = (
        f"{why}. Nothing to do: Nomad collects the claim within csi_volume_claim_gc_interval (5 minutes by default) or "
        "as soon as any CSI volume is registered; this shows whether it has"
    )
    return Step("await", "", f"nomad volume status -namespace {holders.namespace} {holders.volume_id}", said)


def _purge(node_id: str) -> str:
    return f"nomad operator api -X PUT /v1/node/{node_id}/purge"


def _fence(instance_id: str, state: str) -> Step:
    why = (
        f"it is {state} for EC2, so it may be cut off only and its tasks may still write. Once it is stopped (or "
        f"terminated, where it is not wanted any more: `aws ec2 terminate-instances --instance-ids {instance_id}`) "
        "nothing can, and the volume is detached. If the client comes back instead, it releases the volume itself"
    )
    return Step("stop-instance", instance_id, _stop(instance_id), why)


def _stop(instance_id: str) -> str:
    return f"aws ec2 stop-instances --instance-ids {instance_id}"


def _detach(holders: Holders, instance_id: str) -> str:
    return f"aws ec2 detach-volume --volume-id {holders.external_id} --instance-id {instance_id}"


def _ec2_detach(holders: Holders, attachment: Attachment) -> Step:
    return Step(
        "ec2-detach",
        attachment.instance_id,
        _detach(holders, attachment.instance_id),
        f"the instance is {holders.instance_state(attachment.instance_id)}, so nothing has it mounted",
    )


def _decide_by_hand(node_id: str) -> Step:
    return Step(
        "by-hand",
        node_id,
        f"nomad node status {node_id}",
        f"if that client comes back it releases the volume; if its machine is off for good, `{_purge(node_id)}` makes "
        "Nomad forget it and what it claims",
    )


def _instance_of(holders: Holders, client: Client | None) -> str:
    """The instance of a client; of one that Nomad has forgotten, the only one that EC2 has the volume attached to."""
    if client is not None and client.instance_id:
        return client.instance_id
    places = [item.instance_id for item in holders.attached.attachments] if holders.attached else []
    return places[0] if len(places) == 1 else ""
