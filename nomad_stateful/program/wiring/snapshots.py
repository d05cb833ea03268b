"""From settings to the schedules by which AWS takes snapshots, and the role that it takes them with."""

from collections.abc import Iterator, Mapping

from nomad_stateful.components.csi_registration import RegisteredCsiVolume
from nomad_stateful.components.snapshot_schedules import (
    SnapshotCopies,
    SnapshotSchedule,
    SnapshotSchedulesArgs,
    TaggedVolume,
    VolumeSnapshots,
)
from nomad_stateful.drivers import snapshot_policy
from nomad_stateful.ebs.tags import SNAPSHOTS_TAG, STACK_TAG
from nomad_stateful.program.environment import Environment
from nomad_stateful.program.settings import Settings, Volume
from nomad_stateful.program.settings import snapshots as snapshot_settings


def target_tags(volume: Volume, stack: str) -> dict[str, str]:
    """Returns the tag by which a volume's policy knows it; none where no snapshots are taken."""
    return {SNAPSHOTS_TAG: f"{stack}/{volume.name}"} if volume.snapshots else {}


def snapshot_schedules(
    settings: Settings, environment: Environment, registered: Mapping[str, RegisteredCsiVolume]
) -> list[SnapshotSchedulesArgs]:
    """Returns the schedules of all volumes together; nothing where no volume has any."""
    scheduled = [volume for volume in settings.volumes if volume.snapshots]
    if not scheduled:
        return []
    scope = {"partition": environment.partition, "region": environment.region, "account_id": environment.account_id}
    copies = [copy for volume in scheduled for one in volume.snapshots for copy in one.copies]
    keys = [volume.kms_key_arn for volume in scheduled] + [copy.kms_key_arn for copy in copies]
    args: SnapshotSchedulesArgs = {
        "volumes": [_volume(volume, environment) for volume in scheduled],
        "tagged": [one for volume in scheduled for one in _tagged(volume, environment, registered)],
        "path": environment.iam_path,
        "trust": snapshot_policy.trust(**scope),
        "policy": snapshot_policy.policy(
            SNAPSHOTS_TAG,
            environment.stack,
            copy_regions={copy.region for copy in copies},
            kms_keys={key for key in keys if key},
            **scope,
        ),
    }
    return [args]


def _volume(volume: Volume, environment: Environment) -> VolumeSnapshots:
    own = target_tags(volume, environment.stack)
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
        args["tags"] = {**volume.tags, "Name": volume.name, STACK_TAG: environment.stack, **own}
    return args


def _tagged(
    volume: Volume, environment: Environment, registered: Mapping[str, RegisteredCsiVolume]
) -> Iterator[TaggedVolume]:
    """Yields the EBS volumes that Pulumi does not make, and so cannot give their tag as it makes them."""
    if volume.provision == "pulumi":
        return
    ((key, value),) = target_tags(volume, environment.stack).items()
    for member in volume.members:
        yield {
            "name": member.volume_id,
            "volume_id": member.external_id or registered[member.volume_id].external_id,
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
