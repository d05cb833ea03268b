"""From settings to EBS volumes, and to the registration of all volumes."""

import pulumi

from nomad_stateful.components.csi_plugin import CsiPlugin
from nomad_stateful.components.csi_volume_args import CsiVolumeArgs
from nomad_stateful.components.csi_volumes import CsiVolumesArgs
from nomad_stateful.components.zonal_volumes import ZonalVolume, ZonalVolumes, ZonalVolumesArgs
from nomad_stateful.drivers.ebs import MANAGED_TAG, MANAGED_TAG_VALUE
from nomad_stateful.ebs.tags import STACK_TAG
from nomad_stateful.program.environment import Environment
from nomad_stateful.program.settings import Settings, Volume
from nomad_stateful.program.settings.volume import Member
from nomad_stateful.program.wiring.snapshots import target_tags
from nomad_stateful.program.wiring.values import Values


def zonal_volumes(settings: Settings, environment: Environment) -> ZonalVolumesArgs:
    """Returns the EBS volumes that Pulumi makes, tagged so that the driver may attach them."""
    return {
        "driver_tags": {MANAGED_TAG: MANAGED_TAG_VALUE},
        "region": environment.region,
        "account_id": environment.account_id,
        "aws_config": environment.aws_config,
        "volumes": [
            _zonal_volume(settings, volume, member, environment)
            for volume in settings.volumes
            if volume.provision == "pulumi"
            for member in volume.members
        ],
    }


def _zonal_volume(settings: Settings, volume: Volume, member: Member, environment: Environment) -> ZonalVolume:
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
        "adopt": environment.adopted.get(member.volume_id),
        "tags": {**volume.tags, STACK_TAG: environment.stack, **target_tags(volume, environment.stack)},
        "registration": {
            "namespace": settings.placement.namespace,
            "attachment_mode": volume.attachment_mode,
            "fs_type": volume.fs_type or settings.plugin_of(volume).known.default_fs_type,
            "mount_flags": volume.mount_flags,
            "secrets": pulumi.Output.secret(volume.secrets) if volume.secrets else None,
            "growth": volume.growth,
            "earlier": environment.grown.get(member.volume_id),
        },
    }


def csi_volumes(
    settings: Settings, values: Values, plugins: dict[str, CsiPlugin], volumes: ZonalVolumes
) -> CsiVolumesArgs:
    """Returns the registrations of every volume."""
    wanted = [one for volume in settings.volumes for one in _csi_volumes(settings, values, volume, plugins, volumes)]
    return {"volumes": wanted, "earlier_ids": _earlier_ids(settings)}


def _csi_volumes(
    settings: Settings,
    values: Values,
    volume: Volume,
    plugins: dict[str, CsiPlugin],
    volumes: ZonalVolumes,
) -> list[CsiVolumeArgs]:
    """Returns the registrations of a volume, or of each volume of a set."""
    plugin = plugins[settings.plugin_of(volume).id]
    driver = settings.plugin_of(volume).known
    return [
        {
            "volume_id": member.volume_id,
            "namespace": settings.placement.namespace,
            "plugin_id": plugin.healthy_in(member.zone).plugin_id,
            "external_id": volumes.volume_ids.get(member.volume_id, member.external_id),
            "capacity": volume.made_by_driver,
            "snapshot_id": volume.snapshot_id if volume.provision == "plugin" else None,
            "access_mode": volume.access_mode,
            "attachment_mode": volume.attachment_mode,
            "topology_key": plugin.healthy_in(member.zone).topology_key
            if volume.registered.topology_key is None
            else volume.registered.topology_key,
            "registered_name": volume.registered.name or "",
            "retain": volume.retain and volume.provision == "existing",
            "zone": member.zone,
            "fs_type": volume.fs_type,
            "mount_flags": volume.mount_flags,
            "context": volume.context,
            "parameters": volume.parameters,
            "secrets": pulumi.Output.secret(volume.secrets) if volume.secrets else None,
            "protect": volume.protect,
            "has_contents": volume.provision == "existing" or volume.snapshot_id is not None,
            "formatted_as": driver.default_fs_type,
            # Of other storage nothing here takes snapshots.
            "final_snapshot": volume.final_snapshot if driver.backend == "ebs" else False,
            "region": values.environment.region,
            "account_id": values.environment.account_id,
            "aws_config": values.environment.aws_config,
            "is_guarded": volume.provision == "pulumi",
            "restart_id": volumes.restart_ids.get(member.volume_id, ""),
            # Of a volume that Pulumi makes no second registration is possible: Nomad refuses another external id.
            "owner": None if volume.provision == "pulumi" else values.owner,
        }
        for member in volume.members
    ]


def _earlier_ids(settings: Settings) -> dict[str, list[str]]:
    """Returns the ids that a volume may have had, by its id: under a new one it is the same resource."""
    return {
        member.volume_id: volume.earlier_ids(member.volume_id)
        for volume in settings.volumes
        for member in volume.members
    }
