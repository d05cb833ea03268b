"""Which snapshot a drill restores, and the scratch EBS volume that is made from it."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from nomad_stateful.drivers.ebs import MANAGED_TAG, MANAGED_TAG_VALUE
from nomad_stateful.ebs import tags
from nomad_stateful.ebs.restored import is_of
from nomad_stateful.ebs.tags import AS_OF_TAG, DRILL_TAG, RESTORED_TAG, STACK_TAG
from operate.cluster import wait_for
from operate.drill.model import DrillError, Json, Options, Report, Scratch, Snapshot, Target
from operate.snapshot_completion import await_complete
from operate.volume_snapshots import Snapshot as Described
from operate.volume_snapshots import complete_of, complete_of_name
from operate.volume_snapshots import newest as newest_of

_MADE_TIMEOUT_S = 600.0
_DETACH_AFTER_S = 30.0
_GONE = frozenset({"deleting", "deleted"})


def newest(ec2: Any, target: Target, before: datetime | None = None) -> Snapshot | None:
    """Returns the newest completed snapshot of the volume: what a failover would go on from.

    With `before`, the newest that was begun by then, also of an earlier EBS volume of its name in the stack.
    """
    if before is None:
        found = complete_of(ec2, target.volume_id, target.made_from)
    else:
        found = complete_of(ec2, target.volume_id, "") + complete_of_name(ec2, target.volume, target.stack)
    one = newest_of(found, before)
    return None if one is None else _snapshot(one)


def named(ec2: Any, target: Target, options: Options) -> Snapshot:
    """Returns the snapshot of --snapshot.

    Raises DrillError where it is another stack's or not complete, and botocore's errors.
    """
    snapshot_id = options.snapshot
    one = ec2.describe_snapshots(SnapshotIds=[snapshot_id])["Snapshots"][0]
    expected, of = options.snapshot_stack or target.stack, tags.stack_of(tags.read(one))
    if of and of != expected and not is_of(one, target.volume_id, target.made_from):
        raise DrillError(
            f"--snapshot {snapshot_id} is of volume {tags.read(one).get('Name') or one['VolumeId']} of stack {of}: "
            f"name one of `python -m operate snapshots {target.volume}`, or say --snapshot-stack {of} if that is meant"
        )
    if not _complete(one):
        raise DrillError(
            f"snapshot {snapshot_id} is {one['State']} ({one.get('Progress') or '0%'}): wait until it is completed, or "
            "leave --snapshot out, which takes the newest that is"
        )
    return _snapshot(one)


def create(ec2: Any, target: Target, scratch: Scratch) -> str:
    """Makes the scratch volume, as fast as the live one, waits until it is there, and returns its id.

    An empty one is encrypted as the live one is.
    """
    own = {
        "Name": target.id,
        # By this tag the driver may attach it; without the stack's tags neither schedules nor `adopt` know it.
        MANAGED_TAG: MANAGED_TAG_VALUE,
        DRILL_TAG: target.tag,
    }
    return make_like(ec2, target.volume_id, target.zone, own, scratch)


def make_like(ec2: Any, live_id: str, zone: str, own: Mapping[str, str], scratch: Scratch) -> str:
    """Makes a volume like a live one in a zone, with tags of its own, waits until it is there, and returns its id.

    Raises DrillError where EC2 cannot make it, TimedOutError, and botocore's errors.
    """
    made = ec2.create_volume(
        AvailabilityZone=zone,
        ClientToken=secrets.token_hex(16),
        TagSpecifications=[{"ResourceType": "volume", "Tags": tags.listed(own)}],
        **_like(ec2, live_id, scratch),
    )
    volume_id = str(made["VolumeId"])

    def available() -> bool | None:
        state = ec2.describe_volumes(VolumeIds=[volume_id])["Volumes"][0]["State"]
        if state == "error":
            raise DrillError(
                f"EC2 could not make {volume_id} ({scratch}): most often the caller may not use its KMS key "
                "(kms:CreateGrant, kms:Decrypt, kms:GenerateDataKeyWithoutPlaintext)"
            )
        return True if state == "available" else None

    wait_for(f"{volume_id} is available", available, _MADE_TIMEOUT_S, f"See `aws ec2 describe-volumes {volume_id}`.")
    return volume_id


def keep(ec2: Any, target: Target, report: Report, volume_id: str, timeout_s: float) -> None:
    """Takes a snapshot of a scratch volume that nothing has attached, notes it, and waits until it is complete.

    Raises DrillError where it fails, and TimedOutError.
    """
    moment = report.to or report.started
    restored = f"{moment:%Y-%m-%dT%H:%M:%SZ}"
    # Not the volume's name: it is no snapshot of the live volume.
    own = {
        "Name": f"{target.volume} as of {restored}",
        STACK_TAG: target.stack,
        RESTORED_TAG: target.volume_id,
        AS_OF_TAG: moment.isoformat(),
    }
    made = ec2.create_snapshot(
        VolumeId=volume_id,
        Description=f"{target.tag} as of {restored}",
        TagSpecifications=[{"ResourceType": "snapshot", "Tags": tags.listed(own)}],
    )
    snapshot_id = str(made["SnapshotId"])
    report.kept = snapshot_id
    remedy = (
        f"EC2 goes on with it: `aws ec2 wait snapshot-completed --snapshot-ids {snapshot_id}`, or a longer --timeout."
    )
    await_complete(ec2, snapshot_id, timeout_s, remedy, DrillError)


def left_over(ec2: Any, target: Target) -> list[str]:
    """Returns the EBS volumes of this volume's drills."""
    pages = ec2.get_paginator("describe_volumes").paginate(
        Filters=[{"Name": f"tag:{DRILL_TAG}", "Values": [target.tag]}]
    )
    return [str(one["VolumeId"]) for page in pages for one in page["Volumes"] if one["State"] not in _GONE]


def await_detached(ec2: Any, volume_id: str, timeout_s: float) -> None:
    """Waits until nothing has a scratch volume attached; asks EC2 to detach it where Nomad has not.

    Raises TimedOutError. Never by force: a detachment waits for the unmount.
    """
    ask_at = time.monotonic() + _DETACH_AFTER_S

    def free() -> bool | None:
        nonlocal ask_at
        found: Json = ec2.describe_volumes(VolumeIds=[volume_id])["Volumes"][0]
        if found["State"] in ("available", "error", *_GONE):
            return True
        if time.monotonic() >= ask_at and any(one["State"] == "attached" for one in found.get("Attachments") or []):
            ec2.detach_volume(VolumeId=volume_id)
            ask_at = float("inf")
        return None

    wait_for(f"{volume_id} is detached", free, timeout_s, "Something on its instance still has it mounted (`findmnt`).")


def delete(ec2: Any, volume_id: str) -> None:
    """Deletes a scratch volume. Raises DrillError for any other volume, and botocore's errors."""
    known = tags.read(ec2.describe_volumes(VolumeIds=[volume_id])["Volumes"][0])
    if DRILL_TAG not in known or STACK_TAG in known:
        raise DrillError(f"{volume_id} does not have the tags of a drill's volume: it is not deleted")
    ec2.delete_volume(VolumeId=volume_id)


def live(ec2: Any, volume_id: str) -> Json | None:
    """Returns what EC2 says of the live volume; None where it is gone."""
    found: list[Json] = ec2.describe_volumes(Filters=[{"Name": "volume-id", "Values": [volume_id]}])["Volumes"]
    return found[0] if found else None


def _like(ec2: Any, volume_id: str, scratch: Scratch) -> Json:
    """Returns contents, type and performance of the scratch volume: the live one's, or gp3's own where that is gone."""
    found = live(ec2, volume_id)
    known: Json = {"SnapshotId": scratch.snapshot_id} if scratch.snapshot_id else {"Size": scratch.size_gib}
    if found is None:
        return {**known, "VolumeType": "gp3"}
    if not scratch.snapshot_id and found.get("Encrypted"):
        known |= {"Encrypted": True, "KmsKeyId": found["KmsKeyId"]}
    known["VolumeType"] = found["VolumeType"]
    if known["VolumeType"] in ("gp3", "io1", "io2") and found.get("Iops"):
        known["Iops"] = found["Iops"]
    if known["VolumeType"] == "gp3" and found.get("Throughput"):
        known["Throughput"] = found["Throughput"]
    return known


def _complete(snapshot: Json) -> bool:
    return bool(snapshot["State"] == "completed")


def _snapshot(one: Described) -> Snapshot:
    return Snapshot(str(one["SnapshotId"]), one["StartTime"], int(one["VolumeSize"]))
