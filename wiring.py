"""From settings to the inputs of each component."""

from components.csi_plugin import CsiPlugin, CsiPluginArgs
from components.csi_volume import CsiVolume, CsiVolumeArgs
from components.driver_policy import DriverPolicyArgs
from components.mysql import MysqlServerArgs
from components.placement import JobPlacement
from components.zonal_volumes import ZonalVolumes, ZonalVolumesArgs
from drivers.ebs import EBS, MANAGED_TAG, MANAGED_TAG_VALUE
from drivers.ebs_policy import register_only_policy
from drivers.model import DriverOptions
from preflight import Surroundings
from settings import Settings, Volume


def _placement(settings: Settings) -> JobPlacement:
    placement = settings.placement
    return {
        "namespace": placement.namespace,
        "datacenters": placement.datacenters,
        "node_pool": placement.node_pool,
    }


def driver_policy(settings: Settings, surroundings: Surroundings) -> DriverPolicyArgs:
    """The EBS driver's permissions, for volumes of this account and region that carry the driver's tag."""
    keys = [volume.kms_key_arn for volume in settings.volumes if volume.kms_key_arn]
    return {
        "role": settings.client_role,
        "description": "Lets the EBS CSI driver on the Nomad clients attach the volumes that are tagged for it",
        "policy": register_only_policy(
            partition=surroundings.partition,
            region=surroundings.region,
            account_id=surroundings.account_id,
            kms_key_arns=keys,
        ),
    }


def zonal_volumes(settings: Settings) -> ZonalVolumesArgs:
    """The EBS volumes, tagged so that the driver may attach them."""
    return {
        "driver_tags": {MANAGED_TAG: MANAGED_TAG_VALUE},
        "volumes": [
            {
                "name": volume.name,
                "zone": volume.zone,
                "size_gib": volume.size_gib,
                "type": volume.type,
                "iops": volume.iops,
                "throughput_mibps": volume.throughput_mibps,
                "encrypted": volume.encrypted,
                "kms_key_arn": volume.kms_key_arn,
                "snapshot_id": volume.snapshot_id,
                "protect": volume.protect,
                "tags": volume.tags,
            }
            for volume in settings.volumes
        ],
    }


def csi_plugin(settings: Settings) -> CsiPluginArgs:
    """The EBS driver's jobs, to be healthy in every zone that holds a volume."""
    ebs = settings.ebs
    options = DriverOptions(
        version=ebs.version,
        log_level=ebs.log_level,
        extra_tags=ebs.extra_tags,
        volume_attach_limit=ebs.volume_attach_limit,
        reserved_volume_attachments=ebs.reserved_volume_attachments,
        extra_args=tuple(ebs.extra_args),
    )
    return {
        "plugin_id": ebs.plugin_id,
        "placement": _placement(settings),
        "task_driver": ebs.task_driver,
        "image": f"{ebs.image}:{ebs.version}",
        "command": ebs.command,
        "controller_args": EBS.controller_args(options),
        "node_args": EBS.node_args(options),
        "env": ebs.env,
        "controller_count": ebs.controller_count,
        "mount_dir": ebs.mount_dir,
        "stage_publish_base_dir": ebs.stage_publish_base_dir,
        "health_timeout": ebs.health_timeout,
        "cpu_mhz": ebs.cpu_mhz,
        "memory_mib": ebs.memory_mib,
        "zones": settings.zones,
        "zone_keys": list(EBS.topology_keys),
        "timeout_s": ebs.timeout_s,
    }


def csi_volume(settings: Settings, volume: Volume, plugin: CsiPlugin, volumes: ZonalVolumes) -> CsiVolumeArgs:
    """The registration of one volume, reachable from its zone."""
    return {
        "volume_id": volume.name,
        "namespace": settings.placement.namespace,
        "plugin_id": plugin.plugin_id,
        "external_id": volumes.volume_ids[volume.name],
        "access_mode": volume.access_mode,
        "attachment_mode": volume.attachment_mode,
        "topology_key": plugin.topology_key,
        "zone": volume.zone,
        "fs_type": volume.fs_type,
        "mount_flags": volume.mount_flags,
        "context": volume.context,
        "parameters": volume.parameters,
    }


def mysql_server(settings: Settings, surroundings: Surroundings, volume: CsiVolume) -> MysqlServerArgs:
    """The MySQL server on its registered volume."""
    mysql = settings.mysql
    return {
        "job_id": mysql.job_id,
        "placement": _placement(settings),
        "volume_id": volume.volume_id,
        "registration_id": volume.registration_id,
        "external_id": volume.external_id,
        "region": surroundings.region,
        "mount_path": mysql.mount_path,
        "data_dir": mysql.data_dir,
        "port": mysql.port,
        "task": {
            "driver": mysql.task_driver,
            "image": mysql.image,
            "command": mysql.command,
            "user": mysql.user,
            "args": mysql.server_args,
            "kill_timeout": mysql.kill_timeout,
            "cpu_mhz": mysql.cpu_mhz,
            "memory_mib": mysql.memory_mib,
        },
        "service": {
            "provider": mysql.service_provider,
            "check_interval": mysql.check_interval,
            "check_timeout": mysql.check_timeout,
        },
        "restart": {
            "attempts": mysql.restart_attempts,
            "interval": mysql.restart_interval,
            "delay": mysql.restart_delay,
        },
        "release_timeout_s": mysql.release_timeout_s,
        "timeout_s": mysql.timeout_s,
    }
