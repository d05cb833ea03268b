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
from nomad_stateful.program.plan import BINLOGS, DUMPS, Bucket, Plan
from nomad_stateful.program.wiring.components import (
    bucket_policy,
    csi_volumes,
    driver_policies,
    snapshot_schedules,
    zonal_volumes,
)
from nomad_stateful.program.wiring.values import Values


def deploy(plan: Plan, values: Values) -> None:
    """Makes everything that the plan has."""
    plugins = {}
    for name, args in plan.plugins.items():
        # First, since nothing takes longer than a plugin until it is healthy.
        plugins[name] = CsiPlugin(f"plugin-{name}", values.into(args))
        values.add_plugin(name, plugins[name], args["zones"])
    allowed = [
        DriverPolicy(f"{driver}-driver", args) for driver, args in driver_policies(plan, values.environment).items()
    ]
    values.add_storage(ZonalVolumes("ebs", zonal_volumes(plan, values)))
    # The plugin starts without its permissions, but attaches no volume without them.
    may_attach = pulumi.ResourceOptions(depends_on=allowed)
    registered = CsiVolumes("volumes", csi_volumes(plan, values), may_attach).registered
    for volume_id, volume in registered.items():
        values.add_volume(volume_id, volume)
    if plan.schedules is not None:
        schedules = SnapshotSchedules("snapshots", snapshot_schedules(plan.schedules, values))
        pulumi.export("snapshotPolicies", schedules.policy_ids)
    pulumi.export("volumes", outputs.volumes(plan, registered))
    pulumi.export("plugins", outputs.plugins(plugins))
    _deploy_mysql(plan, values)
    _deploy_consumers(plan, values)
    if plan.volume_metrics is not None:
        metrics = VolumeMetrics("volume-metrics", values.into(plan.volume_metrics))
        pulumi.export("volumeMetrics", {"job": metrics.job_id})
    if plan.failover is not None:
        watch = FailoverWatch("failover", values.into(plan.failover), pulumi.ResourceOptions(depends_on=allowed))
        pulumi.export("failover", watch.job_id)


def _deploy_mysql(plan: Plan, values: Values) -> None:
    if plan.mysql is None:
        return
    may_copy = {bucket.name: _deploy_bucket(plan, bucket, values) for bucket in plan.buckets}
    args = values.into(plan.mysql)
    server = MysqlServer("mysql", args, pulumi.ResourceOptions(depends_on=may_copy.get(BINLOGS, [])))
    values.add_mysql(server, [account["name"] for account in args["accounts"]])
    pulumi.export("mysql", outputs.mysql(plan.mysql, plan.zone_of(plan.mysql["volume"]["name"]), server))
    pulumi.export("mysqlPassword", server.password)
    if passwords := outputs.user_passwords(args["accounts"], server):
        pulumi.export("mysqlUserPasswords", passwords)
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


def _deploy_bucket(plan: Plan, bucket: Bucket, values: Values) -> list[pulumi.Resource]:
    """Makes the bucket unless it is given, and lets the clients use it; returns what lets them."""
    if bucket.inputs is not None:
        # Of all its types this program needs few, and the package takes a while to load.
        from nomad_stateful.components.dump_bucket import DumpBucket

        values.add_bucket(bucket.name, DumpBucket(bucket.name, values.into(bucket.inputs)).bucket)
    return [DriverPolicy(f"{bucket.name}-access", bucket_policy(plan, bucket, values))]


def _deploy_consumers(plan: Plan, values: Values) -> None:
    containers = {}
    for name, args in plan.consumers.items():
        before = plan.earlier_consumers.get(name)
        # Under a new name it is the same resource, whose parts are replaced in the safe order.
        options = pulumi.ResourceOptions(aliases=[pulumi.Alias(name=f"consumer-{before}")] if before else None)
        containers[name] = Container(f"consumer-{name}", values.into(args), options)
    if containers:
        pulumi.export("consumers", outputs.consumers(containers))
