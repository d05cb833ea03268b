"""The story: every component of the stack in the order that they need each other, and what the stack exports."""

from typing import cast

import pulumi

from nomad_stateful.components.container import Container
from nomad_stateful.components.csi_plugin import CsiPlugin
from nomad_stateful.components.csi_registration import RegisteredCsiVolume
from nomad_stateful.components.csi_volumes import CsiVolumes
from nomad_stateful.components.driver_policy import DriverPolicy
from nomad_stateful.components.failover_watch import FailoverWatch
from nomad_stateful.components.mysql import MysqlServer
from nomad_stateful.components.mysql_backup import DumpCopies, MysqlBackup
from nomad_stateful.components.mysql_metrics import MysqlMetrics
from nomad_stateful.components.snapshot_schedules import SnapshotSchedules
from nomad_stateful.components.volume_metrics import VolumeMetrics
from nomad_stateful.components.zonal_volumes import ZonalVolumes
from nomad_stateful.program import outputs
from nomad_stateful.program.environment import Environment
from nomad_stateful.program.settings import Mysql, Settings
from nomad_stateful.program.settings.dump_bucket import DumpBucket as DumpBucketSettings
from nomad_stateful.program.wiring import dump_bucket
from nomad_stateful.program.wiring.consumers import container, container_options
from nomad_stateful.program.wiring.failover import failover_watches
from nomad_stateful.program.wiring.metrics import mysql_metrics, volume_metrics
from nomad_stateful.program.wiring.mysql import mysql_backups, mysql_server
from nomad_stateful.program.wiring.plugins import csi_plugin
from nomad_stateful.program.wiring.policies import driver_policies
from nomad_stateful.program.wiring.snapshots import snapshot_schedules
from nomad_stateful.program.wiring.volumes import csi_volumes, zonal_volumes

Registered = dict[str, RegisteredCsiVolume]
"""Registered volumes by id in Nomad."""


def deploy(settings: Settings, environment: Environment) -> None:
    """Makes everything that the settings describe."""
    # First, since nothing takes longer than a plugin until it is healthy.
    plugins = {
        plugin.id: CsiPlugin(f"plugin-{plugin.id}", csi_plugin(settings, environment, plugin))
        for plugin in settings.plugins
    }
    policies = [
        DriverPolicy(f"{driver}-driver", args) for driver, args in driver_policies(settings, environment).items()
    ]
    volumes = ZonalVolumes("ebs", zonal_volumes(settings, environment))
    # The plugin starts without its permissions, but attaches no volume without them.
    registered = CsiVolumes(
        "volumes",
        csi_volumes(settings, environment, plugins, volumes),
        pulumi.ResourceOptions(depends_on=policies),
    ).registered
    for schedules in snapshot_schedules(settings, environment, registered):
        pulumi.export("snapshotPolicies", SnapshotSchedules("snapshots", schedules).policy_ids)
    pulumi.export("volumes", outputs.volumes(settings, registered))
    pulumi.export("plugins", outputs.plugins(plugins))
    if settings.mysql is not None:
        _deploy_mysql(settings, environment, settings.mysql, registered)
    _deploy_consumers(settings, environment, registered)
    for args in volume_metrics(settings, environment):
        pulumi.export("volumeMetrics", {"job": VolumeMetrics("volume-metrics", args).job_id})
    for watch in failover_watches(settings, environment, registered):
        pulumi.export("failover", FailoverWatch("failover", watch, pulumi.ResourceOptions(depends_on=policies)).job_id)


def _deploy_mysql(settings: Settings, environment: Environment, mysql: Mysql, registered: Registered) -> None:
    copies = {
        name: _deploy_bucket(settings, environment, name, wanted)
        for name, (_, wanted) in dump_bucket.wanted(settings).items()
    }
    binlogs, may_copy = copies.get(dump_bucket.BINLOGS, (None, []))
    server = MysqlServer(
        "mysql",
        mysql_server(settings, environment, mysql, registered[mysql.volume], binlogs=binlogs),
        pulumi.ResourceOptions(depends_on=may_copy),
    )
    pulumi.export("mysql", outputs.mysql(settings, mysql, server))
    pulumi.export("mysqlPassword", server.password)
    if mysql.users:
        pulumi.export("mysqlUserPasswords", outputs.user_passwords(mysql, server))
    if binlogs is not None:
        pulumi.export("mysqlPointInTime", outputs.point_in_time(binlogs))
    dumps, may_copy = copies.get(dump_bucket.DUMPS, (None, []))
    for args in mysql_backups(settings, environment, mysql, server, registered, copies=dumps):
        backup = MysqlBackup("mysql-backup", args, pulumi.ResourceOptions(depends_on=may_copy))
        pulumi.export("mysqlBackup", outputs.backup(backup, dumps))
    for measured in mysql_metrics(settings, environment, mysql, server):
        exporter = MysqlMetrics("mysql-metrics", measured)
        pulumi.export("mysqlMetrics", {"job": exporter.job_id})
        pulumi.export("mysqlMetricsPassword", exporter.web_password)


def _deploy_bucket(
    settings: Settings, environment: Environment, name: str, wanted: DumpBucketSettings
) -> tuple[DumpCopies, list[pulumi.Resource]]:
    """Makes the bucket unless it is given, and lets the clients use it; returns where the copies go to."""
    bucket: pulumi.Input[str] | None = wanted.bucket
    if bucket is None:
        # Of all its types this program needs few, and the package takes a while to load.
        from nomad_stateful.components.dump_bucket import DumpBucket, DumpBucketArgs

        args = cast("DumpBucketArgs", dump_bucket.bucket_inputs(wanted, environment))
        bucket = DumpBucket(name, args).bucket
    what = "dumps" if name == dump_bucket.DUMPS else "binary logs"
    policy = DriverPolicy(f"{name}-access", dump_bucket.bucket_policy(settings, wanted, environment, bucket, what=what))
    return dump_bucket.dump_copies(settings, wanted, environment, bucket), [policy]


def _deploy_consumers(settings: Settings, environment: Environment, registered: Registered) -> None:
    containers = {
        consumer.name: Container(
            f"consumer-{consumer.name}",
            container(settings, environment, consumer, registered),
            container_options(consumer),
        )
        for consumer in settings.consumers
    }
    if containers:
        pulumi.export("consumers", outputs.consumers(containers))
