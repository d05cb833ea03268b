"""The jobs that the settings ask for, and which clients their volumes bind their instances to."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from nomad_stateful import jobspec as jobs
from nomad_stateful.components import job_variables
from nomad_stateful.components.csi_registration import RegisteredCsiVolume
from nomad_stateful.components.mysql import MysqlServer
from nomad_stateful.components.mysql_metrics import MysqlMetricsArgs
from nomad_stateful.components.placement import JobConstraint
from nomad_stateful.components.volume_metrics import VolumeMetricsArgs
from nomad_stateful.nomad.fingerprint import ZONE_REFERENCE
from nomad_stateful.program.environment import Environment
from nomad_stateful.program.settings import Consumer, Mysql, Plugin, Settings, Volume
from nomad_stateful.program.settings.mysql import BACKUP_ACCOUNT, MysqlBackup
from nomad_stateful.program.wiring.consumers import container as container_args
from nomad_stateful.program.wiring.dump_bucket import dump_copies
from nomad_stateful.program.wiring.failover import failover_watches
from nomad_stateful.program.wiring.metrics import mysql_metrics, volume_metrics
from nomad_stateful.program.wiring.mysql import mysql_backups, mysql_server
from nomad_stateful.program.wiring.plugins import csi_plugin as csi_plugin_args

_NODE_POOL = "${node.pool}"


@dataclass(frozen=True)
class Part:
    """Instances of a job that ask the same of a client beyond the job itself."""

    zones: tuple[str, ...]
    count: int
    constraints: tuple[JobConstraint, ...] = ()

    @property
    def name(self) -> str:
        """Its name within the job."""
        return " and ".join(self.zones) or "any"

    @property
    def where(self) -> str:
        """Its zones, for a sentence."""
        return f" in {self.name}" if self.zones else ""


@dataclass(frozen=True)
class WantedJob:
    """A job as its file will make it, but for its volumes."""

    section: str
    """Path of its settings."""
    setting: str
    """The setting to name where it has no client."""
    value: str
    """What that is."""
    job_id: str
    pool: str
    cpu_mhz: int
    memory_mib: int
    spec: str
    """Name of its job file."""
    namespace: str
    variables: Mapping[str, Any]
    parts: tuple[Part, ...]
    driver: str = "docker"
    constraints: tuple[JobConstraint, ...] = ()
    """What the node plugins of its volumes ask of a client."""
    on_every_client: bool = False
    alike: str = ""
    """The same for jobs that a client takes or does not take together; empty for a job like no other."""

    @property
    def key(self) -> str:
        """Path of the setting."""
        return f"{self.section}.{self.setting}"

    @property
    def question(self) -> dict[str, Any]:
        """The arguments of getPlacement."""
        return {
            "jobspec": jobs.spec(self.spec, self.job_id, self.namespace),
            "variables": "\n".join(f"{name} = {jobs.hcl_literal(value)}" for name, value in self.variables.items()),
            "namespace": self.namespace,
            "constraints": list(self.constraints),
            "parts": [
                {"name": part.name, "count": part.count, "constraints": list(part.constraints)} for part in self.parts
            ],
        }


@dataclass(frozen=True)
class _Registration:
    """A volume before it is registered."""

    volume_id: str
    registration_id: str = ""
    restart_id: str = ""
    external_id: str = ""


@dataclass(frozen=True)
class _Server:
    """A MySQL server before it has passwords."""

    password: str = ""
    """Of root."""

    @property
    def account_passwords(self) -> dict[str, str]:
        return {BACKUP_ACCOUNT: ""}


_MADE = "made-by-the-stack"
_NOWHERE = Environment(account_id="", partition="", region="")


def of(settings: Settings) -> list[WantedJob]:
    """Returns every job of the stack, in the order in which they are submitted."""
    found = [job for plugin in settings.plugins for job in _plugin(settings, plugin)]
    if settings.mysql is not None:
        found += _mysql(settings, settings.mysql)
    consumers = [_consumer(settings, consumer) for consumer in settings.consumers]
    return [*found, *consumers, *_exporters(settings), *_failover(settings)]


def _plugin(settings: Settings, plugin: Plugin) -> Iterator[WantedJob]:
    args = csi_plugin_args(settings, _NOWHERE, plugin)
    zones = [Part((zone,), 1, _in_zone(zone)) for zone in settings.zones_of(plugin)]
    for role in args["roles"]:
        spec, variables = job_variables.csi_plugin(role, args)
        is_controller = role["role"] == "controller"
        yield WantedJob(
            section=f"plugins.{plugin.id}",
            setting="controllers" if is_controller else "id",
            value=str(plugin.controller_count) if is_controller else plugin.id,
            job_id=role["job_id"],
            pool=settings.placement.node_pool,
            cpu_mhz=plugin.cpu_mhz,
            memory_mib=plugin.memory_mib,
            spec=spec,
            namespace=settings.placement.namespace,
            variables=variables,
            parts=(Part((), plugin.controller_count),) if is_controller else tuple(zones) or (Part((), 1),),
            on_every_client=not is_controller,
        )


def _mysql(settings: Settings, server: Mysql) -> Iterator[WantedJob]:
    shipped = server.point_in_time.s3 if server.point_in_time else None
    binlogs = dump_copies(settings, shipped, _NOWHERE, shipped.bucket or _MADE) if shipped else None
    args = mysql_server(settings, _NOWHERE, server, _registered(server.volume), binlogs=binlogs)
    variables = job_variables.mysql(args)
    variables["volume"] = {"id": server.volume, "release": "", **variables["volume"]}
    yield _of_server(settings, server, server, "mysql", variables)
    backup = server.backup
    if backup is None:
        return
    registered = {backup.volume: _registered(backup.volume)}
    copies = dump_copies(settings, backup.s3, _NOWHERE, backup.s3.bucket or _MADE) if backup.s3 else None
    for dumps in mysql_backups(settings, _NOWHERE, server, cast("MysqlServer", _Server()), registered, copies=copies):
        variables = job_variables.mysql_backup(dumps, job_variables.dump_volume(dumps, backup.volume, ""))
        yield _of_server(settings, server, backup, "mysql-backup", variables)


def _of_server(
    settings: Settings, server: Mysql, own: Mysql | MysqlBackup, spec: str, variables: Mapping[str, Any]
) -> WantedJob:
    """Returns the server's job, or that of its dumps."""
    return WantedJob(
        section="mysql" if own is server else "mysql.backup",
        setting="jobId",
        value=own.job_id,
        job_id=own.job_id,
        pool=settings.placement.node_pool,
        cpu_mhz=own.cpu_mhz,
        memory_mib=own.memory_mib,
        spec=spec,
        namespace=settings.placement.namespace,
        variables=variables,
        parts=_parts(1, [(settings.volume(own.volume), False)]),
        constraints=_of_plugins(settings, [settings.volume(own.volume)]),
    )


def _consumer(settings: Settings, consumer: Consumer) -> WantedJob:
    mounted = [(settings.volume(mount.volume), mount.per_alloc) for mount in consumer.mounts]
    registered = {member.volume_id: _registered(member.volume_id) for volume, _ in mounted for member in volume.members}
    args = container_args(settings, _NOWHERE, consumer, registered)
    parts = _parts(consumer.count, mounted)
    constraints = _of_plugins(settings, [volume for volume, _ in mounted])
    asked = (args["placement"], args["constraints"], args["ports"], args["services"], parts, constraints)
    return WantedJob(
        section=f"consumers.{consumer.name}",
        setting="count",
        value=str(consumer.count),
        job_id=consumer.name,
        pool=consumer.node_pool or settings.placement.node_pool,
        driver=consumer.task_driver,
        cpu_mhz=consumer.cpu_mhz,
        memory_mib=consumer.memory_mib,
        spec="container",
        namespace=settings.placement.namespace,
        variables={**job_variables.container(args), "volumes": []},
        parts=parts,
        constraints=constraints,
        alike=repr((*asked, consumer.task_driver, consumer.cpu_mhz, consumer.memory_mib)),
    )


def _exporters(settings: Settings) -> Iterator[WantedJob]:
    server = cast("MysqlServer", _Server())
    measured = [] if settings.mysql is None else mysql_metrics(settings, _NOWHERE, settings.mysql, server)
    for of_mysql in measured:
        yield _exporter(settings, "mysql", of_mysql, job_variables.mysql_metrics(of_mysql))
    for of_volumes in volume_metrics(settings, _NOWHERE):
        yield _exporter(settings, "volumes", of_volumes, job_variables.volume_metrics(of_volumes))


def _exporter(
    settings: Settings, kind: str, args: MysqlMetricsArgs | VolumeMetricsArgs, variables: Mapping[str, Any]
) -> WantedJob:
    return WantedJob(
        section=f"metrics.{kind}",
        setting="jobId",
        value=args["job_id"],
        job_id=args["job_id"],
        pool=settings.placement.node_pool,
        cpu_mhz=args["task"]["cpu_mhz"],
        memory_mib=args["task"]["memory_mib"],
        spec="mysql-metrics" if kind == "mysql" else "volume-metrics",
        namespace=settings.placement.namespace,
        variables=variables,
        parts=(Part((), 1),),
        on_every_client=kind == "volumes",
    )


def _failover(settings: Settings) -> Iterator[WantedJob]:
    registered = {member.volume_id: _registered(member.volume_id) for one in settings.volumes for member in one.members}
    for args in failover_watches(settings, _NOWHERE, registered):
        yield WantedJob(
            section="failover",
            setting="count",
            value=str(args["count"]),
            job_id=args["job_id"],
            pool=settings.placement.node_pool,
            cpu_mhz=args["task"]["cpu_mhz"],
            memory_mib=args["task"]["memory_mib"],
            spec="failover",
            namespace=settings.placement.namespace,
            variables={**job_variables.failover_watch(args), "volumes": sorted(registered)},
            parts=(Part((), args["count"]),),
        )


def _parts(count: int, mounted: Sequence[tuple[Volume, bool]]) -> tuple[Part, ...]:
    """Returns the instances by the zones of their volumes."""
    zones = Counter(
        tuple(sorted({zone for volume, each in mounted if (zone := volume.members[index if each else 0].zone)}))
        for index in range(count)
    )
    return tuple(
        Part(bound, number, tuple(one for zone in bound for one in _in_zone(zone))) for bound, number in zones.items()
    )


def _of_plugins(settings: Settings, volumes: Sequence[Volume]) -> tuple[JobConstraint, ...]:
    """Returns what a client has to fulfil to have the node plugins of these volumes."""
    pool = settings.placement.node_pool
    plugins = {plugin.id: plugin for plugin in map(settings.plugin_of, volumes)}
    asked = [one for plugin in plugins.values() for one in csi_plugin_args(settings, _NOWHERE, plugin)["constraints"]]
    own = [one for one in asked if not one["operator"].startswith("distinct_")]
    in_pool: JobConstraint = {"attribute": _NODE_POOL, "operator": "=", "value": pool}
    # Where a plugin runs that is not the stack's is not known here.
    anywhere = pool == "all" or all(plugin.existing for plugin in plugins.values())
    return tuple(own if anywhere else [*own, in_pool])


def _in_zone(zone: str) -> tuple[JobConstraint, ...]:
    return ({"attribute": ZONE_REFERENCE, "operator": "=", "value": zone},)


def _registered(volume_id: str) -> RegisteredCsiVolume:
    return cast("RegisteredCsiVolume", _Registration(volume_id))
