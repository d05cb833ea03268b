"""Which snapshot a drill restores, and the scratch EBS volume that is made from it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import datetime

from nomad_stateful.drivers.ebs import MANAGED_TAG, MANAGED_TAG_VALUE
from nomad_stateful.ebs.ec2_client import AwsPlace
from nomad_stateful.ebs.snapshots import EbsSnapshots, Snapshot
from nomad_stateful.ebs.snapshots import newest as newest_of
from nomad_stateful.ebs.tags import AS_OF_TAG, DRILL_TAG, RESTORED_TAG, STACK_TAG
from nomad_stateful.ebs.volumes import EbsVolumes
from nomad_stateful.operate.cluster import wait_for
from nomad_stateful.operate.drill.model import DrillError, Options, Report, Scratch, Target
from nomad_stateful.operate.progress import CONTEXT
from nomad_stateful.waiting import Progress

_MADE_TIMEOUT_S = 600.0
_DETACH_AFTER_S = 30.0


def newest(place: AwsPlace, target: Target, before: datetime | None = None) -> Snapshot | None:
    """Returns the newest complete snapshot of the volume: what a failover would go on from.

    With `before`, the newest that was begun by then, also of an earlier EBS volume of its name in the stack.
    """
    snapshots = EbsSnapshots(place)
    if before is None:
        return newest_of(snapshots.of_volume(target.volume_id, target.made_from))
    found = snapshots.of_volume(target.volume_id) + snapshots.of_name(target.volume, target.stack)
    return newest_of(found, before)


def named(place: AwsPlace, target: Target, options: Options) -> Snapshot:
    """Returns the snapshot of --snapshot.

    Raises DrillError where there is none, or it is another stack's or not complete, and ProviderError.
    """
    found = EbsSnapshots(place).find(options.snapshot)
    if found is None:
        raise DrillError(
            f"--snapshot is {options.snapshot}: EC2 has none of that id in this account and region. Name one of "
            f"`nomad-stateful snapshots {target.volume}`"
        )
    expected, of = options.snapshot_stack or target.stack, found.stack
    if of and of != expected and not found.is_of(target.volume_id, target.made_from):
        raise DrillError(
            f"--snapshot {found.id} is of volume {found.tags.get('Name') or found.volume_id} of stack {of}: name one "
            f"of `nomad-stateful snapshots {target.volume}`, or say --snapshot-stack {of} if that is meant"
        )
    if not found.is_complete:
        raise DrillError(
            f"snapshot {found.id} is {found.state} ({found.progress}): wait until it is completed, or leave --snapshot "
            "out, which takes the newest that is"
        )
    return found


def create(place: AwsPlace, target: Target, scratch: Scratch) -> str:
    """Makes the scratch volume, as fast as the live one, waits until it is there, and returns its id.

    An empty one is encrypted as the live one is.
    """
    own = {
        "Name": target.id,
        # By this tag the driver may attach it; without the stack's tags neither schedules nor `adopt` know it.
        MANAGED_TAG: MANAGED_TAG_VALUE,
        DRILL_TAG: target.tag,
    }
    return make_like(place, target.volume_id, target.zone, own, scratch)


def make_like(place: AwsPlace, live_id: str, zone: str, own: Mapping[str, str], scratch: Scratch) -> str:
    """Makes a volume like a live one in a zone, with tags of its own, waits until it is there, and returns its id.

    Raises DrillError where EC2 cannot make it, TimedOutError and ProviderError.
    """
    volumes = EbsVolumes(place)
    live = volumes.find(live_id)
    volume_id = volumes.create_like(live, zone, own, snapshot_id=scratch.snapshot_id, size_gib=scratch.size_gib)

    def available() -> bool | None:
        # It may not be listed yet.
        volume = volumes.named([volume_id]).get(volume_id)
        if volume is not None and volume.state == "error":
            raise DrillError(
                f"EC2 could not make {volume_id} ({scratch}): most often the caller may not use its KMS key "
                "(kms:CreateGrant, kms:Decrypt, kms:GenerateDataKeyWithoutPlaintext)"
            )
        return True if volume is not None and volume.state == "available" else None

    wait_for(f"{volume_id} is available", available, _MADE_TIMEOUT_S, f"See `aws ec2 describe-volumes {volume_id}`.")
    return volume_id


def keep(place: AwsPlace, target: Target, report: Report, volume_id: str, timeout_s: float) -> None:
    """Takes a snapshot of a scratch volume that nothing has attached, notes it, and waits until it is complete.

    Raises ProviderError where it fails, or takes longer.
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
    snapshots = EbsSnapshots(place)
    report.kept = snapshots.begin(volume_id, f"{target.tag} as of {restored}", own)
    remedy = (
        f"EC2 goes on with it: `aws ec2 wait snapshot-completed --snapshot-ids {report.kept}`, or a longer --timeout"
    )
    snapshots.await_complete(Progress(CONTEXT, timeout_s), report.kept, remedy)


def left_over(place: AwsPlace, target: Target) -> list[str]:
    """Returns the EBS volumes of this volume's drills."""
    return [one.id for one in EbsVolumes(place).tagged({DRILL_TAG: target.tag})]


def await_detached(place: AwsPlace, volume_id: str, timeout_s: float) -> None:
    """Waits until nothing has a scratch volume attached; asks EC2 to detach it where Nomad has not.

    Raises TimedOutError. Never by force: a detachment waits for the unmount.
    """
    ask_at, volumes = time.monotonic() + _DETACH_AFTER_S, EbsVolumes(place)

    def free() -> bool | None:
        nonlocal ask_at
        volume = volumes.state(volume_id)
        if volume.is_free or volume.state == "error":
            return True
        attached = [one for one in volume.attachments if one.state == "attached"]
        if attached and time.monotonic() >= ask_at:
            volumes.detach(volume_id, attached[0].instance_id)
            ask_at = float("inf")
        return None

    wait_for(f"{volume_id} is detached", free, timeout_s, "Something on its instance still has it mounted (`findmnt`).")


def delete(place: AwsPlace, volume_id: str) -> None:
    """Deletes a scratch volume, where it is not gone. Raises DrillError for any other volume, and ProviderError."""
    volumes = EbsVolumes(place)
    volume = volumes.find(volume_id)
    if volume is None:
        return
    if DRILL_TAG not in volume.tags or STACK_TAG in volume.tags:
        raise DrillError(f"{volume_id} does not have the tags of a drill's volume: it is not deleted")
    volumes.delete(volume_id)
