"""The story: every component of the stack in the order that they need each other, and what the stack exports."""

import pulumi

from nomad_stateful.components.container import Container
from nomad_stateful.components.csi_plugin import CsiPlugin
from nomad_stateful.components.csi_volumes import CsiVolumes
from nomad_stateful.components.database import DatabaseServer
from nomad_stateful.components.database_group import DatabaseGroup
from nomad_stateful.components.databases import COMPONENTS, GROUPS
from nomad_stateful.components.driver_policy import DriverPolicy
from nomad_stateful.components.failover_watch import FailoverWatch
from nomad_stateful.components.snapshot_schedules import SnapshotSchedules
from nomad_stateful.components.volume_metrics import VolumeMetrics
from nomad_stateful.components.zonal_volumes import ZonalVolumes
from nomad_stateful.databases.catalogue import DATABASES
from nomad_stateful.program import outputs
from nomad_stateful.program.plan.model import DUMPS, LOGS, Bucket, Plan, StackDatabase
from nomad_stateful.program.wiring.components import (
    bucket_policy,
    csi_volumes,
    driver_policies,
    snapshot_schedules,
    zonal_volumes,
)
from nomad_stateful.program.wiring.turns import Turns
from nomad_stateful.program.wiring.values import Values


def deploy(plan: Plan, values: Values) -> None:
    """Makes everything that the plan has."""
    plugins = {}
    for name, args in plan.plugins.items():
        # First, since nothing takes longer than a plugin until it is healthy.
        plugins[name] = CsiPlugin(f"plugin-{name}", values.into(args), values.options())
        values.add_plugin(name, plugins[name], args["zones"])
    allowed = [
        DriverPolicy(f"{driver}-driver", args) for driver, args in driver_policies(plan, values.environment).items()
    ]
    values.add_storage(ZonalVolumes("ebs", zonal_volumes(plan, values), values.options()))
    # The plugin starts without its permissions, but attaches no volume without them.
    may_attach = values.options(depends_on=allowed)
    with Turns(plan.database.group if plan.database else None) as turns:
        volumes = CsiVolumes("volumes", csi_volumes(plan, values), may_attach, turns=turns.of_volumes)
        registered = volumes.registered
        for volume_id, volume in registered.items():
            values.add_volume(volume_id, volume)
        if plan.database is not None:
            _deploy_database(plan, plan.database, values, turns)
    if plan.schedules is not None:
        schedules = SnapshotSchedules("snapshots", snapshot_schedules(plan.schedules, values))
        pulumi.export("snapshotPolicies", schedules.policy_ids)
    pulumi.export("volumes", outputs.volumes(plan, registered))
    pulumi.export("plugins", outputs.plugins(plugins))
    _deploy_consumers(plan, values)
    if plan.volume_metrics is not None:
        metrics = VolumeMetrics("volume-metrics", values.into(plan.volume_metrics), values.options())
        pulumi.export("volumeMetrics", {"job": metrics.job_id})
    if plan.failover is not None:
        watch = FailoverWatch("failover", values.into(plan.failover), values.options(depends_on=allowed))
        pulumi.export("failover", watch.job_id)


def _deploy_database(plan: Plan, database: StackDatabase, values: Values, turns: Turns) -> None:
    kind, components = DATABASES[database.name], COMPONENTS[database.name]
    may_copy = {bucket.role: _deploy_bucket(plan, bucket, values) for bucket in plan.buckets}
    args, options = values.into(database.server), values.options(depends_on=may_copy.get(LOGS, []))
    server: DatabaseServer | DatabaseGroup
    if database.group is None:
        server = components.server(kind.job(), args, options)
    else:
        server = GROUPS[kind.name](kind.job(), values.into(database.group), options)
        turns.made(server)
    values.add_database(server, [account["name"] for account in args["accounts"]])
    zone = "" if database.group else plan.zone_of(str(database.server["volume"]["volume_id"]))
    members = outputs.group(plan, database.group) if database.group else {}
    pulumi.export(kind.output(), outputs.database(kind, database.server, zone, server) | members)
    pulumi.export(kind.output("Password"), server.password)
    if passwords := outputs.user_passwords(args["accounts"], server):
        pulumi.export(kind.output("UserPasswords"), passwords)
    if logs := args.get("binlogs"):
        pulumi.export(kind.output("PointInTime"), outputs.point_in_time(logs))
    if database.backup is not None:
        dumps = values.into(database.backup)
        may_dump = values.options(depends_on=may_copy.get(DUMPS, []))
        backup = components.backup(kind.job("backup"), dumps, may_dump)
        pulumi.export(kind.output("Backup"), outputs.backup(backup, dumps.get("s3")))
    if database.metrics is not None:
        exporter = components.metrics(kind.job("metrics"), values.into(database.metrics), values.options())
        pulumi.export(kind.output("Metrics"), {"job": exporter.job_id})
        pulumi.export(kind.output("MetricsPassword"), exporter.web_password)


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
        options = values.options(aliases=[pulumi.Alias(name=f"consumer-{before}")] if before else [])
        containers[name] = Container(f"consumer-{name}", values.into(args), options)
    if containers:
        pulumi.export("consumers", outputs.consumers(containers))
