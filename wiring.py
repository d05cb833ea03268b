"""From settings to the inputs of each component."""

import pulumi

from components.csi_plugin import CsiPlugin, CsiPluginArgs, PluginRole
from components.csi_volume import CsiVolume, CsiVolumeArgs
from components.driver_policy import DriverPolicyArgs
from components.mysql import MysqlServerArgs
from components.placement import JobConstraint, JobPlacement
from components.zonal_volumes import ZonalVolume, ZonalVolumes, ZonalVolumesArgs
from drivers.ebs import MANAGED_TAG, MANAGED_TAG_VALUE
from drivers.ebs_policy import register_only_policy
from drivers.model import CONFIG_FILE, DriverOptions, Role
from preflight import Surroundings
from settings import Mysql, Plugin, Settings, Volume
from settings.rules import job_ids
from settings.volume import Member

# Nomad's fingerprint of an EC2 instance.
ZONE_ATTRIBUTE = "${attr.platform.aws.placement.availability-zone}"


def _placement(settings: Settings) -> JobPlacement:
    placement = settings.placement
    return {
        "namespace": placement.namespace,
        "datacenters": placement.datacenters,
        "node_pool": placement.node_pool,
    }


def driver_policies(settings: Settings, surroundings: Surroundings) -> list[DriverPolicyArgs]:
    """The EBS driver's permissions, for volumes of this account and region that carry the driver's tag."""
    if all(plugin.driver != "ebs" for plugin in settings.plugins):
        return []
    keys = [volume.kms_key_arn for volume in settings.volumes if volume.kms_key_arn]
    policy = register_only_policy(
        partition=surroundings.partition,
        region=surroundings.region,
        account_id=surroundings.account_id,
        kms_key_arns=keys,
    )
    return [
        {
            "role": settings.client_role,
            "description": "Lets the EBS CSI driver on the Nomad clients attach the volumes that are tagged for it",
            "policy": policy,
        }
    ]


def zonal_volumes(settings: Settings) -> ZonalVolumesArgs:
    """The EBS volumes that Pulumi makes, tagged so that the driver may attach them."""
    return {
        "driver_tags": {MANAGED_TAG: MANAGED_TAG_VALUE},
        "volumes": [
            _zonal_volume(volume, member)
            for volume in settings.volumes
            if volume.provision == "pulumi"
            for member in volume.members
        ],
    }


def _zonal_volume(volume: Volume, member: Member) -> ZonalVolume:
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
        "protect": volume.protect,
        "tags": volume.tags,
    }


def csi_plugin(settings: Settings, plugin: Plugin) -> CsiPluginArgs:
    """A driver's jobs, to be healthy in every zone that holds one of its volumes."""
    driver = plugin.known
    config = None if plugin.config is None else pulumi.Output.secret(plugin.config)
    return {
        "plugin_id": plugin.id,
        "placement": _placement(settings),
        "constraints": _in_zones(plugin.zones),
        "task_driver": plugin.task_driver,
        "image": plugin.pinned_image if plugin.task_driver == "docker" else "",
        "command": plugin.command or driver.command,
        "roles": [_role(plugin, role) for role in driver.roles],
        "controller_count": plugin.controller_count,
        "config_path": CONFIG_FILE if driver.config_file else "",
        "config": config,
        "mount_dir": plugin.mount_dir,
        "stage_publish_base_dir": plugin.stage_publish_base_dir,
        "health_timeout": plugin.health_timeout,
        "cpu_mhz": plugin.cpu_mhz,
        "memory_mib": plugin.memory_mib,
        "zones": settings.zones_of(plugin),
        "zone_keys": list(driver.topology_keys) if driver.zonal else [],
        "timeout_s": plugin.timeout_s,
    }


def _role(plugin: Plugin, role: Role) -> PluginRole:
    task = plugin.known.roles[role]
    options = DriverOptions(
        plugin_id=plugin.id,
        version=plugin.pinned_version,
        endpoint=plugin.endpoint,
        log_level=plugin.log_level,
        extra_tags=plugin.extra_tags,
        volume_attach_limit=plugin.volume_attach_limit,
        reserved_volume_attachments=plugin.reserved_volume_attachments,
        extra_args=tuple(plugin.extra_args),
    )
    return {
        "role": role,
        "job_id": job_ids(plugin)[role],
        "args": task.args(options),
        "env": {**task.env, **plugin.env},
        "privileged": task.privileged,
        "network_mode": task.network_mode,
        "ipc_mode": task.ipc_mode,
        "mounts": [{"source": mount.source, "target": mount.target} for mount in task.host_mounts],
    }


def _in_zones(zones: list[str]) -> list[JobConstraint]:
    if not zones:
        return []
    return [{"attribute": ZONE_ATTRIBUTE, "operator": "regexp", "value": f"^({'|'.join(sorted(zones))})$"}]


def csi_volumes(
    settings: Settings, volume: Volume, plugins: dict[str, CsiPlugin], volumes: ZonalVolumes
) -> list[CsiVolumeArgs]:
    """The registrations of a volume, or of each volume of a set."""
    plugin = plugins[settings.plugin_of(volume).id]
    return [
        {
            "volume_id": member.volume_id,
            "namespace": settings.placement.namespace,
            "plugin_id": plugin.plugin_id,
            "external_id": volumes.volume_ids.get(member.volume_id, member.external_id),
            "create_gib": volume.size_gib if volume.provision == "plugin" else None,
            "snapshot_id": volume.snapshot_id if volume.provision == "plugin" else None,
            "access_mode": volume.access_mode,
            "attachment_mode": volume.attachment_mode,
            "topology_key": plugin.topology_key,
            "zone": member.zone,
            "fs_type": volume.fs_type,
            "mount_flags": volume.mount_flags,
            "context": volume.context,
            "parameters": volume.parameters,
            "secrets": pulumi.Output.secret(volume.secrets) if volume.secrets else None,
            "protect": volume.protect,
        }
        for member in volume.members
    ]


def mysql_server(settings: Settings, surroundings: Surroundings, mysql: Mysql, volume: CsiVolume) -> MysqlServerArgs:
    """The MySQL server on its registered volume."""
    backend = settings.plugin_of(settings.volume(mysql.volume)).known.backend
    return {
        "job_id": mysql.job_id,
        "placement": _placement(settings),
        "volume_id": volume.volume_id,
        "registration_id": volume.registration_id,
        "external_id": volume.external_id,
        "backend": backend,
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
