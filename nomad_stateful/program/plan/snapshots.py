"""The schedules by which AWS takes snapshots, and what their role needs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from nomad_stateful.ebs.tags import SNAPSHOTS_TAG, STACK_TAG
from nomad_stateful.program.plan.later import Later
from nomad_stateful.program.plan.model import Schedules
from nomad_stateful.program.settings import Settings, Volume
from nomad_stateful.program.settings import snapshots as snapshot_settings

if TYPE_CHECKING:
    from nomad_stateful.components.snapshot_schedules import (
        SnapshotCopies,
        SnapshotSchedule,
        TaggedVolume,
        VolumeSnapshots,
    )


def target_tags(volume: Volume, stack: str) -> dict[str, str]:
    """Returns the tag by which a volume's policy knows it; none where no snapshots are taken."""
    return {SNAPSHOTS_TAG: f"{stack}/{volume.name}"} if volume.snapshots else {}


def schedules(settings: Settings, stack: str) -> Schedules | None:
    """Returns the schedules of all volumes together; None where no volume has any."""
    scheduled = [volume for volume in settings.volumes if volume.snapshots]
    if not scheduled:
        return None
    copies = [copy for volume in scheduled for one in volume.snapshots for copy in one.copies]
    keys = [volume.kms_key_arn for volume in scheduled] + [copy.kms_key_arn for copy in copies]
    return Schedules(
        volumes=[_volume(volume, stack) for volume in scheduled],
        tagged=[one for volume in scheduled for one in _tagged(volume, stack)],
        copy_regions=sorted({copy.region for copy in copies}),
        kms_keys=sorted({key for key in keys if key}),
    )


def _volume(volume: Volume, stack: str) -> VolumeSnapshots:
    own = target_tags(volume, stack)
    ((key, value),) = own.items()
    args: VolumeSnapshots = {
        "name": volume.name,
        "tag_key": key,
        "tag_value": value,
        "schedules": [_schedule(one) for one in volume.snapshots],
        "earlier_names": [] if volume.renamed_from is None else [volume.renamed_from],
    }
    if volume.count is None:
        # Those of a set are told apart by the names that they get from their volumes.
        args["tags"] = {**volume.tags, "Name": volume.name, STACK_TAG: stack, **own}
    return args


def _tagged(volume: Volume, stack: str) -> Iterator[TaggedVolume]:
    """Yields the EBS volumes that Pulumi does not make, and so cannot give their tag as it makes them."""
    if volume.provision == "pulumi":
        return
    ((key, value),) = target_tags(volume, stack).items()
    for member in volume.members:
        yield {
            "name": member.volume_id,
            "volume_id": member.external_id or Later("external_id", member.volume_id),
            "tag_key": key,
            "tag_value": value,
            "earlier_names": volume.earlier_ids(member.volume_id),
        }


def _schedule(schedule: snapshot_settings.SnapshotSchedule) -> SnapshotSchedule:
    return {
        "name": schedule.name,
        "cron": snapshot_settings.to_aws(schedule.schedule),
        "keep": schedule.keep,
        "keep_days": schedule.keep_days,
        "copies": [_copy(one) for one in schedule.copies],
        "tags": {**schedule.tags},
    }


def _copy(copy: snapshot_settings.SnapshotCopy) -> SnapshotCopies:
    return {
        "region": copy.region,
        "keep_days": copy.keep_days,
        "encrypted": copy.encrypted,
        "kms_key_arn": copy.kms_key_arn,
    }
