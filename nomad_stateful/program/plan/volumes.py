"""Every volume, by who makes it, with its registration, and the schedules by which AWS takes snapshots."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from nomad_stateful.ebs.tags import SNAPSHOTS_TAG, STACK_TAG
from nomad_stateful.program.plan.inputs import THIS_STACK
from nomad_stateful.program.plan.later import Later
from nomad_stateful.program.plan.model import DriverVolume, EbsVolume, ExistingVolume, Schedules, Volume
from nomad_stateful.program.settings import Settings
from nomad_stateful.program.settings import Volume as VolumeSettings
from nomad_stateful.program.settings import snapshots as snapshot_settings
from nomad_stateful.program.settings.volume import Member

if TYPE_CHECKING:
    from nomad_stateful.components.csi_volume_args import CsiVolumeArgs
    from nomad_stateful.components.snapshot_schedules import (
        SnapshotCopies,
        SnapshotSchedule,
        TaggedVolume,
        VolumeSnapshots,
    )
    from nomad_stateful.components.zonal_volumes import ZonalVolume


def volumes(settings: Settings, stack: str) -> Iterator[Volume]:
    """Yields every volume, of a set each; `stack` is PROJECT/STACK."""
    for volume in settings.volumes:
        for member in volume.members:
            yield _volume(settings, volume, member, stack)


def _volume(settings: Settings, volume: VolumeSettings, member: Member, stack: str) -> Volume:
    plugin = settings.plugin_of(volume)
    facts: dict[str, Any] = {
        "name": volume.name,
        "plugin": plugin.id,
        "driver": plugin.driver,
        "size_gib": volume.size_gib,
        "earlier_ids": volume.earlier_ids(member.volume_id),
        "renamed_from": volume.renamed_from,
        "adopt": volume.adopt,
        "snapshot_id": volume.snapshot_id,
        "snapshot_stack": volume.snapshot_stack,
        "registration": _registration(settings, volume, member),
        "topology_keys": [*plugin.known.topology_keys],
        "scheduled": bool(volume.snapshots),
    }
    if volume.provision == "pulumi":
        return EbsVolume(**facts, storage=_storage(settings, volume, member, stack))
    if volume.provision == "plugin":
        return DriverVolume(**facts, by_stack=not plugin.existing)
    return ExistingVolume(**facts)


def _registration(settings: Settings, volume: VolumeSettings, member: Member) -> CsiVolumeArgs:
    """Returns how Nomad is to know a volume."""
    plugin, volume_id = settings.plugin_of(volume), member.volume_id
    there, key = f"{plugin.id}/{member.zone}", volume.registered.topology_key
    by_pulumi = volume.provision == "pulumi"
    return {
        "volume_id": volume_id,
        "namespace": settings.placement.namespace,
        "plugin_id": Later("plugin_id", there, text=plugin.id),
        "external_id": Later("storage_id", volume_id) if by_pulumi else member.external_id,
        "capacity": volume.made_by_driver,
        "snapshot_id": volume.snapshot_id if volume.provision == "plugin" else None,
        "access_mode": volume.access_mode,
        "attachment_mode": volume.attachment_mode,
        "topology_key": Later("topology_key", there) if key is None else key,
        "registered_name": volume.registered.name or "",
        "retain": volume.retain and volume.provision == "existing",
        "zone": member.zone,
        "fs_type": volume.fs_type,
        "mount_flags": volume.mount_flags,
        "context": volume.context,
        "parameters": volume.parameters,
        "secrets": _secrets(volume),
        "protect": volume.protect,
        "has_contents": volume.provision == "existing" or volume.snapshot_id is not None,
        "formatted_as": plugin.known.default_fs_type,
        # Of other storage nothing here takes snapshots.
        "final_snapshot": volume.final_snapshot if plugin.known.backend == "ebs" else False,
        "is_guarded": by_pulumi,
        "restart_id": Later("storage_restart_id", volume_id) if by_pulumi else "",
        # Of a volume that Pulumi makes no second registration is possible: Nomad refuses another external id.
        "owner": None if by_pulumi else THIS_STACK,
    }


def _storage(settings: Settings, volume: VolumeSettings, member: Member, stack: str) -> ZonalVolume:
    """Returns an EBS volume that Pulumi makes."""
    return {
        "name": member.volume_id,
        "zone": member.zone,
        "size_gib": volume.size_gib or 0,
        "type": volume.type,
        "iops": volume.iops,
        "throughput_mibps": volume.throughput_mibps,
        "encrypted": volume.encrypted,
        "kms_key_arn": volume.kms_key_arn,
        "snapshot_id": volume.snapshot_id,
        "initialization_rate_mibps": volume.initialization_rate_mibps,
        "protect": volume.protect,
        "earlier_names": volume.earlier_ids(member.volume_id),
        "move_to": volume.moves_to,
        "retain": volume.retain,
        "final_snapshot": volume.final_snapshot,
        "tags": {**volume.tags, STACK_TAG: stack, **target_tags(volume, stack)},
        "registration": {
            "namespace": settings.placement.namespace,
            "attachment_mode": volume.attachment_mode,
            "fs_type": volume.fs_type or settings.plugin_of(volume).known.default_fs_type,
            "mount_flags": volume.mount_flags,
            "secrets": _secrets(volume),
            "growth": volume.growth,
        },
    }


def _secrets(volume: VolumeSettings) -> dict[str, str] | None:
    return {key: Later("secret", f"volumes.{volume.name}.secrets.{key}") for key in volume.secrets} or None


def target_tags(volume: VolumeSettings, stack: str) -> dict[str, str]:
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
        volumes=[_snapshots(volume, stack) for volume in scheduled],
        tagged=[one for volume in scheduled for one in _tagged(volume, stack)],
        copy_regions=sorted({copy.region for copy in copies}),
        kms_keys=sorted({key for key in keys if key}),
    )


def _snapshots(volume: VolumeSettings, stack: str) -> VolumeSnapshots:
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


def _tagged(volume: VolumeSettings, stack: str) -> Iterator[TaggedVolume]:
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
