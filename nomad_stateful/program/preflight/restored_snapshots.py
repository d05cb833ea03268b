"""The snapshots that new EBS volumes are made from: which volume and stack each is of."""

from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

import pulumi

from nomad_stateful.drivers.ebs import MANAGED_TAG, MANAGED_TAG_VALUE
from nomad_stateful.ebs.tags import RESTORED_TAG, stack_of
from nomad_stateful.program.plan.model import DriverVolume, Volume
from nomad_stateful.program.prefetch import CallError, Prefetch
from nomad_stateful.program.settings import Problem

Answers = dict[str, Future[dict[str, Any]]]


def ask(new: Sequence[Volume], prefetch: Prefetch) -> Answers:
    """Asks EC2 for the snapshots of volumes that the stack does not have yet; by the snapshot's id."""
    return {
        snapshot_id: prefetch.call(
            "aws:ebs/getSnapshot:getSnapshot", {"filters": [{"name": "snapshot-id", "values": [snapshot_id]}]}
        )
        for snapshot_id in dict.fromkeys(one.snapshot_id for one in new)
        if snapshot_id
    }


def problems(new: Sequence[Volume], stack: str, own: Collection[str], answers: Answers) -> list[Problem]:
    """Returns what may not be restored, and tells what is.

    `stack` is PROJECT/STACK, `own` its EBS volumes' ids.
    """
    found: dict[str, Problem] = {}
    for wanted in new:
        snapshot_id = wanted.snapshot_id
        if snapshot_id is None or wanted.key in found:
            continue
        try:
            snapshot = answers[snapshot_id].result()
        except CallError as error:
            rule = f"EC2 does not return it: {error}"
            remedy = "name a snapshot of this account and region, and allow ec2:DescribeSnapshots"
            found[wanted.key] = Problem(f"{wanted.key}.snapshotId", snapshot_id, rule, remedy)
            continue
        if problem := _problem(wanted, snapshot_id, stack, own, snapshot):
            found[wanted.key] = problem
        else:
            pulumi.info(f"volume {wanted.id} is made from {_described(stack, own, snapshot)}.")
    return list(found.values())


def _problem(
    wanted: Volume, snapshot_id: str, stack: str, own: Collection[str], snapshot: Mapping[str, Any]
) -> Problem | None:
    key, expected = f"{wanted.key}.snapshotId", wanted.snapshot_stack or stack
    of = _stack(stack, own, snapshot)
    if of and of != expected:
        remedy = f"choose one of `nomad-stateful snapshots`; to restore that stack's data here, set snapshotStack: {of}"
        if of == stack:
            remedy = f"leave {wanted.key}.snapshotStack ({expected}) out"
        return Problem(key, snapshot_id, f"it is {_described(stack, own, snapshot)}", remedy)
    if not of and wanted.snapshot_stack:
        rule = f"it is {_described(stack, own, snapshot)}, so that nothing says that it is {expected}'s"
        return Problem(
            key, snapshot_id, rule, f"leave {wanted.key}.snapshotStack out, if this is the one that is meant"
        )
    by_driver = isinstance(wanted, DriverVolume) and wanted.by_stack
    if by_driver and (snapshot.get("tags") or {}).get(MANAGED_TAG) != MANAGED_TAG_VALUE:
        rule = (
            f"the driver makes the volume, and may read snapshots with the tag {MANAGED_TAG}={MANAGED_TAG_VALUE} alone"
        )
        tag = f"--tags Key={MANAGED_TAG},Value={MANAGED_TAG_VALUE}"
        return Problem(
            key, snapshot_id, rule, f"give it the tag: `aws ec2 create-tags --resources {snapshot_id} {tag}`"
        )
    if snapshot.get("state") not in (None, "", "completed"):
        return Problem(key, snapshot_id, f"the snapshot is {snapshot['state']}", "wait until it is completed")
    return None


def _stack(stack: str, own: Collection[str], snapshot: Mapping[str, Any]) -> str:
    """Returns whose snapshot it is; "" where it does not say. What was taken of an own volume is own."""
    return stack if _source(snapshot) in own else stack_of(snapshot.get("tags") or {})


def _source(snapshot: Mapping[str, Any]) -> str:
    return str((snapshot.get("tags") or {}).get(RESTORED_TAG) or snapshot.get("volumeId") or "")


def _described(stack: str, own: Collection[str], snapshot: Mapping[str, Any]) -> str:
    of, name = _stack(stack, own, snapshot), (snapshot.get("tags") or {}).get("Name")
    whose = f"of stack {of}" if of else "without the tag of a stack"
    volume = f"of volume {name} ({_source(snapshot)})" if name else f"of {_source(snapshot)}"
    return f"the snapshot {snapshot.get('snapshotId')} {volume}, {whose}, begun at {snapshot.get('startTime')}"
