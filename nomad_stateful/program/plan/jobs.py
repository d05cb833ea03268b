"""The jobs that components' inputs come to, and which clients their volumes bind their instances to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from nomad_stateful.components import job_variables
from nomad_stateful.databases.catalogue import DATABASES
from nomad_stateful.nomad.fingerprint import ZONE_REFERENCE
from nomad_stateful.program.plan.model import Job, Part, Plan, StackDatabase
from nomad_stateful.program.settings import Consumer, Settings, Volume

if TYPE_CHECKING:
    from nomad_stateful.components.consumer import RegisteredVolume
    from nomad_stateful.components.csi_plugin import CsiPluginArgs
    from nomad_stateful.components.database import DatabaseServerArgs
    from nomad_stateful.components.placement import JobConstraint

_NODE_POOL = "${node.pool}"


def of(settings: Settings, plan: Plan) -> Iterator[Job]:
    """Yields every job that Nomad has to place, in the order in which they are submitted."""
    for plugin in plan.plugins.values():
        yield from _plugin(plugin)
    yield from _database(settings, plan)
    for consumer in settings.consumers:
        yield _consumer(settings, plan, consumer)
    yield from _exporters(plan)
    if watch := plan.failover:
        variables = {**job_variables.failover_watch(watch), "volumes": watch["volumes"]}
        setting = ("failover", "count", str(watch["count"]))
        yield _job(setting, "failover", variables, parts=[Part([], watch["count"], [])])


def _job(
    setting: tuple[str, str, str],
    spec: str,
    variables: dict[str, Any],
    *,
    parts: list[Part] | None = None,
    constraints: list[JobConstraint] | None = None,
    on_every_client: bool = False,
) -> Job:
    """Returns a job of its file's variables; the setting is its section, its key there and its value."""
    section, key, value = setting
    job, task = variables["job"], variables["task"]
    return Job(
        section=section,
        setting=key,
        value=value,
        job_id=job["id"],
        namespace=job["namespace"],
        pool=job["node_pool"],
        driver=task.get("driver", "docker"),
        cpu_mhz=task["cpu_mhz"],
        memory_mib=task["memory_mib"],
        spec=spec,
        variables=variables,
        parts=parts or [Part([], 1, [])],
        constraints=constraints or [],
        on_every_client=on_every_client,
    )


def _plugin(args: CsiPluginArgs) -> Iterator[Job]:
    section = f"plugins.{args['plugin_id']}"
    for role in args["roles"]:
        spec, variables = job_variables.csi_plugin(role, args)
        if role["role"] == "controller":
            count = args["controller_count"]
            yield _job((section, "controllers", str(count)), spec, variables, parts=[Part([], count, [])])
        else:
            zones = [Part([zone], 1, [_in_zone(zone)]) for zone in args["zones"]]
            yield _job((section, "id", args["plugin_id"]), spec, variables, parts=zones, on_every_client=True)


def _database(settings: Settings, plan: Plan) -> Iterator[Job]:
    if plan.database is None:
        return
    kind = DATABASES[plan.database.name]
    jobs: list[tuple[str, str, dict[str, Any], RegisteredVolume]] = []
    for server in _servers(plan.database):
        variables = job_variables.database(kind, server)
        variables["volume"] = {"id": server["volume"]["volume_id"], "release": "", **variables["volume"]}
        jobs.append((kind.name, "database", variables, server["volume"]))
    if group := plan.database.group:
        setting = (kind.name, "jobId", group["server"]["job_id"])
        yield _job(setting, "database-router", job_variables.database_router(group), on_every_client=True)
    if dumps := plan.database.backup:
        volume = job_variables.dump_volume(dumps, dumps["volume"]["volume_id"], "")
        jobs.append((f"{kind.name}.backup", "dump", job_variables.dump(kind, dumps, volume), dumps["volume"]))
    for section, spec, variables, registered in jobs:
        mounted = [(settings.volume(registered["name"]), False)]
        zone = plan.zone_of(str(registered["volume_id"]))
        parts = [Part([zone], 1, [_in_zone(zone)])] if zone else [Part([], 1, [])]
        constraints = _of_plugins(settings, plan, mounted)
        yield _job((section, "jobId", variables["job"]["id"]), spec, variables, parts=parts, constraints=constraints)


def _servers(database: StackDatabase) -> list[DatabaseServerArgs]:
    """Returns the single server, or each member of a group."""
    group = database.group
    if group is None:
        return [database.server]
    names = group["member"]["members"]
    return [
        {**group["server"], "job_id": name, "volume": volume, "member": group["member"]}
        for name, volume in zip(names, group["volumes"], strict=True)
    ]


def _consumer(settings: Settings, plan: Plan, consumer: Consumer) -> Job:
    mounted = [(settings.volume(mount.volume), mount.per_alloc) for mount in consumer.mounts]
    return _job(
        (f"consumers.{consumer.name}", "count", str(consumer.count)),
        "container",
        {**job_variables.container(plan.consumers[consumer.name]), "volumes": []},
        parts=_parts(consumer.count, mounted),
        constraints=_of_plugins(settings, plan, mounted),
    )


def _exporters(plan: Plan) -> Iterator[Job]:
    if plan.database is not None and (exporter := plan.database.metrics):
        name = plan.database.name
        variables = job_variables.database_metrics(DATABASES[name], exporter)
        yield _job((f"metrics.{name}", "jobId", exporter["job_id"]), "database-metrics", variables)
    if volumes := plan.volume_metrics:
        setting = ("metrics.volumes", "jobId", volumes["job_id"])
        yield _job(setting, "volume-metrics", job_variables.volume_metrics(volumes), on_every_client=True)


def _parts(count: int, mounted: Sequence[tuple[Volume, bool]]) -> list[Part]:
    """Returns the instances by the zones of their volumes."""
    zones = Counter(
        tuple(sorted({zone for volume, each in mounted if (zone := volume.members[index if each else 0].zone)}))
        for index in range(count)
    )
    return [Part(list(bound), number, [_in_zone(zone) for zone in bound]) for bound, number in zones.items()]


def _of_plugins(settings: Settings, plan: Plan, mounted: Sequence[tuple[Volume, bool]]) -> list[JobConstraint]:
    """Returns what a client has to fulfil to have the node plugins of these volumes."""
    pool = settings.placement.node_pool
    plugins = {plugin.id: plugin for plugin in (settings.plugin_of(volume) for volume, _ in mounted)}
    asked = [one for plugin_id in plugins for one in plan.plugins[plugin_id]["constraints"]]
    own = [one for one in asked if not one["operator"].startswith("distinct_")]
    in_pool: JobConstraint = {"attribute": _NODE_POOL, "operator": "=", "value": pool}
    # Where a plugin runs that is not the stack's is not known here.
    anywhere = pool == "all" or all(plugin.existing for plugin in plugins.values())
    return own if anywhere else [*own, in_pool]


def _in_zone(zone: str) -> JobConstraint:
    return {"attribute": ZONE_REFERENCE, "operator": "=", "value": zone}
