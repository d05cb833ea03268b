"""The story: every component of the stack in the order that they need each other, and what the stack exports."""

import pulumi

from nomad_stateful.components.container import Container
from nomad_stateful.components.csi_plugin import CsiPlugin
from nomad_stateful.components.csi_volumes import CsiVolumes
from nomad_stateful.components.driver_policy import DriverPolicy
from nomad_stateful.components.failover_watch import FailoverWatch
from nomad_stateful.components.mysql import MysqlServer
from nomad_stateful.components.mysql_backup import MysqlBackup
from nomad_stateful.components.mysql_metrics import MysqlMetrics
from nomad_stateful.components.snapshot_schedules import SnapshotSchedules
from nomad_stateful.components.volume_metrics import VolumeMetrics
from nomad_stateful.components.zonal_volumes import ZonalVolumes
from nomad_stateful.program import outputs
from nomad_stateful.program.environment import Environment
from nomad_stateful.program.plan import BINLOGS, DUMPS, Bucket, Plan
from nomad_stateful.program.settings import Mysql, Settings
from nomad_stateful.program.wiring.policies import bucket_policy, driver_policies
from nomad_stateful.program.wiring.snapshots import snapshot_schedules
from nomad_stateful.program.wiring.values import Values
from nomad_stateful.program.wiring.volumes import csi_volumes, zonal_volumes


def deploy(settings: Settings, plan: Plan, environment: Environment) -> None:
    """Makes everything that the plan has."""
    values = Values(settings, environment)
    # First, since nothing takes longer than a plugin until it is healthy.
    plugins = {name: CsiPlugin(f"plugin-{name}", values.into(args)) for name, args in plan.plugins.items()}
    policies = [
        DriverPolicy(f"{driver}-driver", args) for driver, args in driver_policies(settings, environment).items()
    ]
    volumes = ZonalVolumes("ebs", zonal_volumes(settings, environment))
    # The plugin starts without its permissions, but attaches no volume without them.
    registered = CsiVolumes(
        "volumes",
        csi_volumes(settings, values, plugins, volumes),
        pulumi.ResourceOptions(depends_on=policies),
    ).registered
    for volume_id, volume in registered.items():
        values.add_volume(volume_id, volume)
    for schedules in snapshot_schedules(settings, environment, registered):
        pulumi.export("snapshotPolicies", SnapshotSchedules("snapshots", schedules).policy_ids)
    pulumi.export("volumes", outputs.volumes(settings, registered))
    pulumi.export("plugins", outputs.plugins(plugins))
    if settings.mysql is not None:
        _deploy_mysql(settings, plan, settings.mysql, values)
    _deploy_consumers(plan, values)
    if plan.volume_metrics is not None:
        metrics = VolumeMetrics("volume-metrics", values.into(plan.volume_metrics))
        pulumi.export("volumeMetrics", {"job": metrics.job_id})
    if plan.failover is not None:
        options = pulumi.ResourceOptions(depends_on=policies)
        pulumi.export("failover", FailoverWatch("failover", values.into(plan.failover), options).job_id)


def _deploy_mysql(settings: Settings, plan: Plan, mysql: Mysql, values: Values) -> None:
    if plan.mysql is None:
        return
    may_copy = {bucket.name: _deploy_bucket(settings, bucket, values) for bucket in plan.buckets}
    args = values.into(plan.mysql)
    server = MysqlServer("mysql", args, pulumi.ResourceOptions(depends_on=may_copy.get(BINLOGS, [])))
    values.add_mysql(server, [account["name"] for account in args["accounts"]])
    pulumi.export("mysql", outputs.mysql(settings, mysql, server))
    pulumi.export("mysqlPassword", server.password)
    if mysql.users:
        pulumi.export("mysqlUserPasswords", outputs.user_passwords(mysql, server))
    if binlogs := args.get("binlogs"):
        pulumi.export("mysqlPointInTime", outputs.point_in_time(binlogs))
    if plan.mysql_backup is not None:
        dumps = values.into(plan.mysql_backup)
        backup = MysqlBackup("mysql-backup", dumps, pulumi.ResourceOptions(depends_on=may_copy.get(DUMPS, [])))
        pulumi.export("mysqlBackup", outputs.backup(backup, dumps.get("s3")))
    if plan.mysql_metrics is not None:
        exporter = MysqlMetrics("mysql-metrics", values.into(plan.mysql_metrics))
        pulumi.export("mysqlMetrics", {"job": exporter.job_id})
        pulumi.export("mysqlMetricsPassword", exporter.web_password)


def _deploy_bucket(settings: Settings, bucket: Bucket, values: Values) -> list[pulumi.Resource]:
    """Makes the bucket unless it is given, and lets the clients use it; returns what lets them."""
    if bucket.inputs is not None:
        # Of all its types this program needs few, and the package takes a while to load.
        from nomad_stateful.components.dump_bucket import DumpBucket

        values.add_bucket(bucket.name, DumpBucket(bucket.name, values.into(bucket.inputs)).bucket)
    return [DriverPolicy(f"{bucket.name}-access", bucket_policy(settings, values, bucket))]


def _deploy_consumers(plan: Plan, values: Values) -> None:
    containers = {}
    for name, args in plan.consumers.items():
        before = plan.earlier_consumers.get(name)
        # Under a new name it is the same resource, whose parts are replaced in the safe order.
        options = pulumi.ResourceOptions(aliases=[pulumi.Alias(name=f"consumer-{before}")] if before else None)
        containers[name] = Container(f"consumer-{name}", values.into(args), options)
    if containers:
        pulumi.export("consumers", outputs.consumers(containers))
