"""The move of a volume to another zone: what it needs, and what is said of it.

An EBS volume cannot move. Another one is made there from a snapshot of it, under the same name; it stays in AWS.
"""

import secrets
from collections.abc import Iterator
from datetime import UTC, datetime

from nomad_stateful.ebs.snapshots import EbsSnapshots, Snapshot
from nomad_stateful.ebs.tags import FIRST, MOVE_TAG
from nomad_stateful.ebs.volumes import Volume
from nomad_stateful.errors import ProviderError
from nomad_stateful.plugin_server.plugin import CheckFailure, Props
from nomad_stateful.plugin_server.values import contains_unknown
from nomad_stateful.waiting import Context

SETTLED_BY_IT = frozenset({"zone", "snapshotId"})
"""What is refused of a volume otherwise."""


def is_wanted(olds: Props, inputs: Props) -> bool:
    """Returns whether an earlier `up` let the volume go to the zone that it is to be in now."""
    return bool(olds.get("moveTo")) and olds["moveTo"] == inputs["zone"] != olds["zone"]


def failures(snapshots: EbsSnapshots, olds: Props, inputs: Props, volume: Volume | None) -> Iterator[CheckFailure]:
    """Yields what is wrong with the snapshot; the volume is None where EC2 does not show it. Raises ProviderError."""
    wanted = inputs["snapshotId"]
    remedy = _by_command(inputs)
    if volume is None:
        yield _failure(inputs, "EC2 does not show the volume that is to move", "Run the same command again")
    elif contains_unknown(wanted) or not wanted:
        rule = f"a volume moves by a snapshot of it, here of {volume.id}, and snapshotId is not set"
        yield _failure(inputs, rule, f"Set it: {remedy}")
    elif (snapshot := snapshots.find(wanted)) is None:
        yield _failure(inputs, "this account and region have no such snapshot", f"Name another: {remedy}")
    elif not snapshot.is_of(volume.id, olds.get("snapshotId", "")):
        rule = f"it is a snapshot of {snapshot.source}, and the volume that moves is {volume.id}"
        yield _failure(inputs, rule, f"Name a snapshot of that: {remedy}")
    elif not snapshot.is_complete:
        rule = f"the snapshot is {snapshot.state} ({snapshot.progress})"
        yield _failure(inputs, rule, "Wait until it is completed")
    else:
        yield from still_attached(inputs, snapshot, volume)


def still_attached(inputs: Props, snapshot: Snapshot | None, volume: Volume) -> Iterator[CheckFailure]:
    """Yields that the volume can be written to after that snapshot."""
    # By such a one `nomad-stateful move` tries the move in a preview before it stops anything; the update refuses it.
    if snapshot is not None and snapshot.tags.get(MOVE_TAG) == FIRST:
        return
    if written_to := _attached(volume):
        rule = f"{written_to}, and what is written after the snapshot would stay behind"
        yield _failure(inputs, rule, f"Stop what uses it, and take another snapshot: {_by_command(inputs)}")


def _by_command(inputs: Props) -> str:
    name, zone = inputs["volumeName"], inputs["zone"]
    return f"`nomad-stateful move {name} --zone {zone}` stops what uses it, takes one and sets it"


def refuse_attached(inputs: Props, volume: Volume | None) -> None:
    """Raises ProviderError where the volume can be written to, as it may have been attached since the preview."""
    if volume is not None and (written_to := _attached(volume)):
        raise ProviderError(
            f"volumes.{inputs['volumeName']}.zone is {inputs['zone']}: {written_to}, and what is written after "
            f"snapshot {inputs['snapshotId']} would stay behind. Nothing was changed. `nomad-stateful move "
            f"{inputs['volumeName']} --zone {inputs['zone']}` stops what uses it, and takes another snapshot"
        )


def _attached(volume: Volume) -> str:
    """Returns to what a volume is attached, "" if to nothing, or where it was given up with its zone."""
    if not volume.attachments or volume.given_up:
        return ""
    return f"EBS volume {volume.id} is attached to {', '.join(one.instance_id for one in volume.attachments)}"


def begin(olds: Props) -> Props:
    """Returns what the guard of the new volume knows that the old one's did not."""
    return {"guardId": secrets.token_hex(8), "leftGuardId": olds["guardId"]}


def tell(ctx: Context, snapshots: EbsSnapshots, olds: Props, inputs: Props, volume: Volume) -> None:
    """Logs what happens to the data. Raises ProviderError."""
    snapshot = snapshots.find(inputs["snapshotId"])
    if snapshot is None:
        return
    minutes = (datetime.now(UTC) - snapshot.taken).total_seconds() / 60
    ctx.log(
        "info",
        f"volume {inputs['volumeName']} moves from {olds['zone']} to {inputs['zone']}: a new EBS volume is made from "
        f"snapshot {snapshot.id}, as of {snapshot.taken:%Y-%m-%d %H:%M:%S} UTC, {minutes:.0f} minutes ago. EBS volume "
        f"{volume.id} stays in {olds['zone']} as it is, and is not this stack's any more",
    )


def _failure(inputs: Props, rule: str, remedy: str) -> CheckFailure:
    value = inputs["snapshotId"]
    shown = "not set" if contains_unknown(value) or not value else value
    return CheckFailure("", f"volumes.{inputs['volumeName']}.snapshotId is {shown}: {rule}. {remedy}")
