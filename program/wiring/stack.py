"""From settings to the inputs of each component."""

from collections.abc import Sequence
from typing import Any

import pulumi

from components.csi_plugin import CsiPlugin, CsiPluginArgs, PluginRole
from components.csi_volume import CsiVolume, CsiVolumeArgs
from components.driver_policy import DriverPolicyArgs
from components.mysql import MysqlAccount, MysqlCertificate, MysqlServer, MysqlServerArgs
from components.mysql_backup import MysqlBackupArgs
from components.placement import JobConstraint, JobPlacement
from components.zonal_volumes import ZonalVolume, ZonalVolumes, ZonalVolumesArgs
from nomad_stateful.drivers import efs_policy
from nomad_stateful.drivers.ebs import MANAGED_TAG, MANAGED_TAG_VALUE
from nomad_stateful.drivers.model import CONFIG_FILE, DriverOptions, Role
from nomad_stateful.ebs.guarded_volumes import STACK_TAG
from program.environment import Environment
from program.settings import Mysql, Plugin, Settings, Volume, driver_policy
from program.settings.mysql import BACKUP_ACCOUNT
from program.settings.rules import job_ids
from program.settings.volume import Member
from program.wiring.consumers import own_time, owner, registered_volume

# Nomad's fingerprint of an EC2 instance.
ZONE_ATTRIBUTE = "${attr.platform.aws.placement.availability-zone}"

# The least with which every database can be read for a dump.
BACKUP_PRIVILEGES = "SELECT, SHOW VIEW, TRIGGER, EVENT"


def _placement(settings: Settings) -> JobPlacement:
    placement = settings.placement
    return {
        "namespace": placement.namespace,
        "datacenters": placement.datacenters,
        "node_pool": placement.node_pool,
    }


def driver_policies(settings: Settings, environment: Environment) -> dict[str, DriverPolicyArgs]:
    """The drivers' permissions by driver, no more than the volumes need, for resources of this account and region."""
    scope = {
        "partition": environment.partition,
        "region": environment.region,
        "account_id": environment.account_id,
    }
    found = {
        "ebs": driver_policy.of_ebs(settings.plugins, _volumes_of(settings, "ebs"), **scope),
        "efs": _efs_policy(settings, scope),
    }
    return {
        driver: {
            "role": settings.client_role,
            "description": f"What the {driver.upper()} CSI driver on the Nomad clients needs",
            "policy": policy,
        }
        for driver, policy in found.items()
        if policy is not None
    }


def _volumes_of(settings: Settings, driver: str) -> list[Volume]:
    return [volume for volume in settings.volumes if settings.plugin_of(volume).driver == driver]


def _efs_policy(settings: Settings, scope: dict[str, str]) -> dict[str, Any] | None:
    dynamic = any(volume.provision == "plugin" for volume in _volumes_of(settings, "efs"))
    return efs_policy.policy({efs_policy.Mode.DYNAMIC} if dynamic else set(), **scope)


def zonal_volumes(settings: Settings, environment: Environment) -> ZonalVolumesArgs:
    """The EBS volumes that Pulumi makes, tagged so that the driver may attach them."""
    return {
        "driver_tags": {MANAGED_TAG: MANAGED_TAG_VALUE},
        "region": environment.region,
        "account_id": environment.account_id,
        "aws_config": environment.aws_config,
        "volumes": [
            _zonal_volume(volume, member, environment)
            for volume in settings.volumes
            if volume.provision == "pulumi"
            for member in volume.members
        ],
    }


def _zonal_volume(volume: Volume, member: Member, environment: Environment) -> ZonalVolume:
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
        "earlier_names": volume.earlier_ids(member.volume_id),
        "retain": volume.retain,
        "final_snapshot": volume.final_snapshot,
        "adopt": environment.adopted.get(member.volume_id),
        "tags": {**volume.tags, STACK_TAG: environment.stack},
    }


def csi_plugin(settings: Settings, environment: Environment, plugin: Plugin) -> CsiPluginArgs:
    """A driver's jobs, to be healthy in every zone that holds one of its volumes."""
    driver = plugin.known
    config = None if plugin.config is None else pulumi.Output.secret(plugin.config)
    return {
        "plugin_id": plugin.id,
        "owner": owner(environment),
        "placement": _placement(settings),
        "constraints": [*_in_zones(plugin.zones), *_constraints(plugin)],
        "task_driver": plugin.task_driver,
        "image": plugin.pinned_image if plugin.task_driver == "docker" else "",
        "command": _program(plugin),
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
    controller = role == "controller"
    mounts = task.host_mounts if controller or plugin.host_mounts is None else plugin.host_mounts
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
        "network_mode": task.network_mode if controller or plugin.network_mode is None else plugin.network_mode,
        "ipc_mode": task.ipc_mode if controller or plugin.ipc_mode is None else plugin.ipc_mode,
        "mounts": [{"source": mount.source, "target": mount.target} for mount in mounts],
        "wrapper": _share_first(plugin) if controller else [],
    }


# The share is mounted in a namespace of the controller's own, and goes with it.
MOUNT_SHARE = 'mkdir -p "$3"; mount -t nfs -o nolock "$1:$2" "$3"; shift 3; exec "$@"'


def _share_first(plugin: Plugin) -> list[str]:
    """What mounts the share that a controller works in and then starts the driver; empty where it needs none."""
    find = plugin.known.controller_share
    share = find(plugin.config) if find is not None and plugin.config is not None else None
    if share is None:
        return []
    alone = [] if plugin.task_driver == "docker" else ["unshare", "--mount"]
    return [*alone, "sh", "-ec", MOUNT_SHARE, "sh", share.server, share.share, share.path]


def _program(plugin: Plugin) -> str:
    if plugin.task_driver == "docker" and plugin.known.image_command:
        return plugin.known.image_command
    return plugin.command or plugin.known.command


def _constraints(plugin: Plugin) -> list[JobConstraint]:
    return [
        {"attribute": constraint.attribute, "operator": constraint.operator, "value": constraint.value}
        for constraint in plugin.constraints
    ]


def _in_zones(zones: list[str]) -> list[JobConstraint]:
    if not zones:
        return []
    return [{"attribute": ZONE_ATTRIBUTE, "operator": "regexp", "value": f"^({'|'.join(sorted(zones))})$"}]


def csi_volumes(
    settings: Settings,
    environment: Environment,
    volume: Volume,
    plugins: dict[str, CsiPlugin],
    volumes: ZonalVolumes,
) -> list[CsiVolumeArgs]:
    """The registrations of a volume, or of each volume of a set."""
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
            "topology_key": plugin.healthy_in(member.zone).topology_key,
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
            "region": environment.region,
            "account_id": environment.account_id,
            "aws_config": environment.aws_config,
            "size_gib": volumes.sizes_gib.get(member.volume_id),
            "growth": volume.growth,
            # Of a volume that Pulumi makes no second registration is possible: Nomad refuses another external id.
            "owner": None if volume.provision == "pulumi" else owner(environment),
        }
        for member in volume.members
    ]


def registration_options(
    settings: Settings, volume_id: str, policies: Sequence[pulumi.Resource]
) -> pulumi.ResourceOptions:
    """After the driver's permissions; under a new name it is the same resource, whose parts are replaced."""
    volume = next(one for one in settings.volumes for member in one.members if member.volume_id == volume_id)
    aliases = [pulumi.Alias(name=f"volume-{earlier}") for earlier in volume.earlier_ids(volume_id)]
    return pulumi.ResourceOptions(depends_on=policies, aliases=aliases)


def mysql_server(settings: Settings, environment: Environment, mysql: Mysql, volume: CsiVolume) -> MysqlServerArgs:
    """The MySQL server on its registered volume."""
    return {
        "job_id": mysql.job_id,
        "owner": owner(environment),
        "placement": _placement(settings),
        "volume": registered_volume(settings, environment, mysql.volume, volume),
        "access_mode": settings.volume(mysql.volume).access_mode,
        "mount_path": mysql.mount_path,
        "data_dir": mysql.data_dir,
        "port": mysql.port,
        "task": {
            "driver": mysql.task_driver,
            "image": mysql.image,
            "command": mysql.entrypoint,
            "user": mysql.user,
            "args": mysql.server_args,
            "uid": mysql.server_uid,
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
        "stop_after_disconnect": own_time(mysql.stop_after_disconnect),
        "config": mysql.options,
        "init_scripts": mysql.init_scripts,
        "tls": {"mode": mysql.tls, "certificate": _certificate(mysql)},
        "databases": mysql.databases,
        "accounts": _accounts(mysql),
        "release_timeout_s": mysql.release_timeout_s,
        "timeout_s": mysql.timeout_s,
    }


def _certificate(mysql: Mysql) -> MysqlCertificate | None:
    given = mysql.tls_certificate
    if given is None:
        return None
    return {"certificate": given.certificate, "key": pulumi.Output.secret(given.key), "ca": given.ca}


def _accounts(mysql: Mysql) -> list[MysqlAccount]:
    accounts: list[MysqlAccount] = [
        {"name": user.name, "privileges": user.privileges, "database": user.database} for user in mysql.users
    ]
    if mysql.backup is not None:
        accounts.append({"name": BACKUP_ACCOUNT, "privileges": BACKUP_PRIVILEGES, "database": ""})
    return accounts


def mysql_backups(
    settings: Settings,
    environment: Environment,
    mysql: Mysql,
    server: MysqlServer,
    registered: dict[str, CsiVolume],
) -> list[MysqlBackupArgs]:
    """The dumps of the server on a volume of their own, where they are wanted."""
    backup = mysql.backup
    if backup is None:
        return []
    args: MysqlBackupArgs = {
        "job_id": backup.job_id,
        "owner": owner(environment),
        "placement": _placement(settings),
        "volume": registered_volume(settings, environment, backup.volume, registered[backup.volume]),
        "access_mode": settings.volume(backup.volume).access_mode,
        "mount_path": "/dumps",
        "server": {"service": mysql.job_id, "provider": mysql.service_provider, "tls": mysql.tls},
        "account": BACKUP_ACCOUNT,
        "account_password": server.account_passwords[BACKUP_ACCOUNT],
        "root_password": server.password,
        "schedule": {"cron": backup.schedule, "keep": backup.keep},
        "task": {
            "driver": mysql.task_driver,
            "image": mysql.image,
            "user": mysql.user,
            "cpu_mhz": backup.cpu_mhz,
            "memory_mib": backup.memory_mib,
        },
        "release_timeout_s": backup.release_timeout_s,
    }
    return [args]
