"""The move of a volume to another zone: what it needs, and what is said of it.

An EBS volume cannot move. Another one is made there from a snapshot of it, under the same name; it stays in AWS.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from nomad_stateful.ebs import restored, tags
from nomad_stateful.ebs.guarded_volumes import GuardedVolumes
from nomad_stateful.ebs.tags import FIRST, GIVEN_UP_TAG, MOVE_TAG
from nomad_stateful.errors import ProviderError
from nomad_stateful.plugin_server.plugin import CheckFailure, Props
from nomad_stateful.plugin_server.values import contains_unknown
from nomad_stateful.waiting import Context

SETTLED_BY_IT = frozenset({"zone", "snapshotId"})
"""What is refused of a volume otherwise."""


def is_wanted(olds: Props, inputs: Props) -> bool:
    """Returns whether an earlier `up` let the volume go to the zone that it is to be in now."""
    return bool(olds.get("moveTo")) and olds["moveTo"] == inputs["zone"] != olds["zone"]


def failures(volumes: GuardedVolumes, olds: Props, inputs: Props, made: Mapping[str, Any]) -> Iterator[CheckFailure]:
    """Yields what is wrong with the snapshot; `made` is the volume as EC2 has it. Raises ProviderError."""
    volume_id, wanted = made.get("VolumeId"), inputs["snapshotId"]
    remedy = (
        f"`python -m operate move {inputs['volumeName']} --zone {inputs['zone']}` stops what uses it, takes one and "
        "sets it"
    )
    if volume_id is None:
        yield _failure(inputs, "EC2 does not show the volume that is to move", "Run the same command again")
    elif contains_unknown(wanted) or not wanted:
        rule = f"a volume moves by a snapshot of it, here of {volume_id}, and snapshotId is not set"
        yield _failure(inputs, rule, f"Set it: {remedy}")
    elif (snapshot := volumes.snapshot(wanted)) is None:
        yield _failure(inputs, "this account and region have no such snapshot", f"Name another: {remedy}")
    elif not restored.is_of(snapshot, volume_id, olds.get("snapshotId", "")):
        rule = f"it is a snapshot of {restored.source(snapshot)}, and the volume that moves is {volume_id}"
        yield _failure(inputs, rule, f"Name a snapshot of that: {remedy}")
    elif snapshot["State"] != "completed":
        rule = f"the snapshot is {snapshot['State']} ({snapshot.get('Progress') or '0%'})"
        yield _failure(inputs, rule, "Wait until it is completed")
    # By such a one `operate move` has a preview try the move before it stops anything; the update still refuses it.
    elif tags.read(snapshot).get(MOVE_TAG) != FIRST and (written_to := _attached(made)):
        rule = f"{written_to}, and what is written after the snapshot would stay behind"
        yield _failure(inputs, rule, f"Stop what uses it, and take another snapshot: {remedy}")


def refuse_attached(inputs: Props, made: Mapping[str, Any] | None) -> None:
    """Raises ProviderError where the volume can be written to, as it may have been attached since the preview."""
    if written_to := _attached(made or {}):
        raise ProviderError(
            f"volumes.{inputs['volumeName']}.zone is {inputs['zone']}: {written_to}, and what is written after "
            f"snapshot {inputs['snapshotId']} would stay behind. Nothing was changed. `python -m operate move "
            f"{inputs['volumeName']} --zone {inputs['zone']}` stops what uses it, and takes another snapshot"
        )


def _attached(made: Mapping[str, Any]) -> str:
    """Returns to what a volume is attached, "" if to nothing, or where it was given up with its zone."""
    attachments = made.get("Attachments") or []
    if not attachments or GIVEN_UP_TAG in tags.read(made):
        return ""
    instances = ", ".join(str(one.get("InstanceId") or "an instance") for one in attachments)
    return f"EBS volume {made['VolumeId']} is attached to {instances}"


def begin(olds: Props) -> Props:
    """Returns what the guard of the new volume knows that the old one's did not."""
    return {"guardId": secrets.token_hex(8), "leftGuardId": olds["guardId"]}


def tell(ctx: Context, volumes: GuardedVolumes, olds: Props, inputs: Props, made: Mapping[str, Any]) -> None:
    """Logs what happens to the data. Raises ProviderError."""
    name, snapshot = inputs["volumeName"], volumes.snapshot(inputs["snapshotId"]) or {}
    taken = restored.as_of(snapshot)
    minutes = (datetime.now(UTC) - taken).total_seconds() / 60
    ctx.log(
        "info",
        f"volume {name} moves from {olds['zone']} to {inputs['zone']}: a new EBS volume is made from snapshot "
        f"{inputs['snapshotId']}, as of {taken:%Y-%m-%d %H:%M:%S} UTC, {minutes:.0f} minutes ago. EBS volume "
        f"{made['VolumeId']} stays in {olds['zone']} as it is, and is not this stack's any more",
    )


def _failure(inputs: Props, rule: str, remedy: str) -> CheckFailure:
    value = inputs["snapshotId"]
    shown = "not set" if contains_unknown(value) or not value else value
    return CheckFailure("", f"volumes.{inputs['volumeName']}.snapshotId is {shown}: {rule}. {remedy}")
