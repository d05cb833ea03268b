"""What `nomad-stateful status` shows, read from Nomad, EC2 and the stack's outputs. It only reads."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, TypeVar

from botocore.exceptions import BotoCoreError, ClientError

from nomad_stateful.ebs.snapshots import EbsSnapshots, newest_by_volume
from nomad_stateful.ebs.volumes import is_ebs_volume
from nomad_stateful.errors import ProviderError
from nomad_stateful.nomad import clients, file_system_size
from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.clients import Client
from nomad_stateful.nomad.csi_starts import Start, controllers_of, nodes_of, starts
from nomad_stateful.nomad.group_members import MemberState
from nomad_stateful.nomad.paths import job_path, plugin_path
from nomad_stateful.nomad.periodic_runs import FailingRun
from nomad_stateful.nomad.running_job import allocations, is_running
from nomad_stateful.operate import dumps, group, stack
from nomad_stateful.operate.errors import OperateError
from nomad_stateful.operate.point_in_time.logs import late as late_logs
from nomad_stateful.operate.volumes import StackVolume, stack_volumes
from nomad_stateful.recovery.plan import recovery_plans

Json = Mapping[str, Any]
T = TypeVar("T")
_PARALLEL = 8
FULL, NEARLY_FULL = 0.9, 0.8
"""Parts of a file system in use from which it is a problem, and from which it is told."""


@dataclass(frozen=True)
class PluginLine:
    """A CSI plugin: healthy and expected instances."""

    plugin_id: str
    version: str
    controllers: tuple[int, int]
    zones: Mapping[str, tuple[int, int]]
    """Node plugins by zone, "" where a client has none."""
    starts: Sequence[Start] = ()
    """Instances that were placed just now and are not healthy yet."""
    zones_of_starts: Mapping[str, int] = field(default_factory=dict)
    """Node plugins that are starting, by zone."""


@dataclass(frozen=True)
class VolumeLine:
    """A volume of the stack, with what its file system holds and when its newest snapshot was begun."""

    volume: StackVolume
    zone: str
    size: str
    """With its unit; "" where nobody says."""
    plugin: str
    file_system: int = 0
    used: int = 0
    """Bytes; 0 where it is not mounted, or its client does not say."""
    snapshot: datetime | None = None

    @property
    def part(self) -> float | None:
        """The part of the file system that is in use."""
        return self.used / self.file_system if self.file_system else None


@dataclass(frozen=True)
class JobLine:
    """A consumer of the stack."""

    job_id: str
    status: str
    """As Nomad has it; "not there" where Nomad has no such job."""
    running: int
    wanted: int
    clients: Sequence[str]


@dataclass(frozen=True)
class Overview:
    """All of it; `unread` says what could not be read, and why."""

    stack: str
    place: str
    clients: Sequence[Client] = ()
    plugins: Sequence[PluginLine] = ()
    volumes: Sequence[VolumeLine] = ()
    jobs: Sequence[JobLine] = ()
    members: Sequence[MemberState] = ()
    """Of the database's replication group."""
    failing_dumps: Sequence[FailingRun] = ()
    late_logs: str = ""
    """What is wrong with the copies of the database's binary logs; "" where nothing is."""
    database_job: str = ""
    backup_job: str = ""
    newest_backup: str = ""
    """When the newest dump that succeeded was begun; "" where Nomad remembers none."""
    unread: Sequence[str] = field(default_factory=list)

    def problems(self) -> Iterator[tuple[str, str]]:
        """Yields what is wrong, as its subject and what there is to say, the worst first."""
        for line in self.volumes:
            yield from _volume_problems(line)
        for client in self.clients:
            if client.status != "ready":
                yield client.name, f"the client is {client.status}: `nomad node status`"
        for plugin in self.plugins:
            yield from _plugin_problems(plugin)
        for job in self.jobs:
            yield from _job_problems(job)
        for job_id, what in group.problems(self.members):
            yield job_id or self.database_job, f"{what}: `nomad-stateful doctor`"
        for run in self.failing_dumps:
            yield run.job_id, dumps.text(run).removeprefix(f"{run.job_id}: ")
        if self.late_logs:
            yield self.database_job, self.late_logs


def _volume_problems(line: VolumeLine) -> Iterator[tuple[str, str]]:
    name = line.volume.name
    for plan in recovery_plans(line.volume.usage, wanted_free=False):
        yield name, f"{plan.problem}. `nomad-stateful recover {name}` says what to do"
    if not line.volume.registered:
        yield name, "it is not registered with Nomad: run `pulumi up --refresh`"
    if line.volume.usage.ec2_error:
        yield name, f"EC2 does not say where it is: {line.volume.usage.ec2_error}"
    if line.part is not None and line.part >= FULL:
        yield name, f"its file system is {line.part:.0%} full: a larger sizeGib grows it while it is mounted"


def _job_problems(job: JobLine) -> Iterator[tuple[str, str]]:
    if job.status == "not there":
        yield job.job_id, "Nomad has no such job: run `pulumi up --refresh`"
    elif job.running < job.wanted:
        why = f"`nomad-stateful explain {job.job_id}` says why"
        yield job.job_id, f"{job.running} of {job.wanted} instances run: {why}"


def _plugin_problems(plugin: PluginLine) -> Iterator[tuple[str, str]]:
    healthy, expected = plugin.controllers
    if healthy + len(controllers_of(plugin.starts)) < expected:
        yield plugin.plugin_id, f"{healthy} of {expected} controllers are healthy: `nomad-stateful doctor`"
    for zone, (well, all_) in plugin.zones.items():
        if well + plugin.zones_of_starts.get(zone, 0) < all_:
            where = zone or "clients without a zone"
            yield plugin.plugin_id, f"{well} of {all_} node plugins are healthy in {where}: `nomad-stateful doctor`"


def read(nomad: NomadApi) -> Overview:
    """Reads everything; what may not be read is told in `unread`. Raises OperateError and ProviderError."""
    outputs, place, server = stack.outputs(), stack.aws_place(), stack.database()
    logs = server.point_in_time if server else None
    found = list(stack_volumes(nomad))
    unread: list[str] = []
    with ThreadPoolExecutor(_PARALLEL) as pool:
        known_clients = pool.submit(_told, "clients", lambda: clients.read(nomad), [], unread)
        snapshots = pool.submit(_told, "snapshots", lambda: _snapshots(found), {}, unread)
        used = pool.map(lambda one: file_system_size.use(nomad, one.usage.claims), found)
        jobs = pool.map(lambda job: _job(nomad, *job), _jobs(outputs, found))
        backup = _told("dumps", lambda: dumps.newest(nomad), ("", ""), unread)
        failing: list[FailingRun] = _told("dumps", lambda: dumps.failing(nomad), [], unread)
        late = pool.submit(_told, "binary logs", lambda: late_logs(logs, place), "", unread)
        members = pool.submit(lambda: group.states(nomad, server) if server else [])
        zones = {client.id: client.zone for client in known_clients.result()}
        known = sorted(outputs.get("plugins") or {})
        plugins = pool.map(lambda plugin_id: _plugin(nomad, plugin_id, zones), known)
        sizes = outputs.get("volumes") or {}
        lines = [
            _volume_line(one, sizes.get(one.name) or {}, space, snapshots.result())
            for one, space in zip(found, used, strict=True)
        ]
        return Overview(
            stack=stack.chosen(),
            place=" ".join(part for part in (place.account_id, place.region) if part),
            clients=sorted(known_clients.result(), key=lambda one: (one.zone, one.name)),
            plugins=list(plugins),
            volumes=lines,
            jobs=list(jobs),
            members=members.result(),
            failing_dumps=failing,
            late_logs=late.result(),
            database_job=server.job if server else "",
            backup_job=backup[0],
            newest_backup=backup[1],
            unread=unread,
        )


def _told(what: str, ask: Callable[[], T], otherwise: T, unread: list[str]) -> T:
    try:
        return ask()
    except (OperateError, ProviderError, ClientError, BotoCoreError) as error:
        unread.append(f"{what}: {' '.join(str(error).split())}")
        return otherwise


def _plugin(nomad: NomadApi, plugin_id: str, zones: Mapping[str, str]) -> PluginLine:
    body = nomad.find(plugin_path(plugin_id)) or {}
    nodes: dict[str, list[bool]] = {}
    for node_id, info in (body.get("Nodes") or {}).items():
        nodes.setdefault(zones.get(node_id, ""), []).append(bool(info and info.get("Healthy")))
    line = PluginLine(
        plugin_id,
        str(body.get("Version") or ""),
        (int(body.get("ControllersHealthy") or 0), int(body.get("ControllersExpected") or 0)),
        {zone: (sum(healthy), len(healthy)) for zone, healthy in sorted(nodes.items())},
    )
    if any(_plugin_problems(line)) and (found := starts(nomad, plugin_id, body)):
        starting = Counter(zones.get(one.node_id, "") for one in nodes_of(found))
        return replace(line, starts=found, zones_of_starts=starting)
    return line


def _volume_line(
    volume: StackVolume, output: Json, space: tuple[int, int], snapshots: Mapping[str, datetime]
) -> VolumeLine:
    size = output.get("sizeGib")
    return VolumeLine(
        volume,
        zone=str(output.get("zone") or ""),
        size=f"{int(size)} GiB" if size else "",
        plugin=volume.usage.plugin_id,
        file_system=space[0],
        used=space[1],
        snapshot=snapshots.get(volume.usage.external_id),
    )


def _snapshots(volumes: Sequence[StackVolume]) -> dict[str, datetime]:
    """Returns when the newest complete snapshot of each EBS volume was begun, by the volume's id."""
    wanted = sorted({one.usage.external_id for one in volumes if is_ebs_volume(one.usage.external_id)})
    if not wanted:
        return {}
    newest = newest_by_volume(EbsSnapshots(stack.aws_place()).of_volumes(wanted))
    return {volume_id: one.started for volume_id, one in newest.items()}


def _jobs(outputs: Json, volumes: Sequence[StackVolume]) -> list[tuple[str, str]]:
    """Returns id and namespace of the stack's consumers, and of others with claims to its volumes."""
    namespace = next((one.usage.namespace for one in volumes), "default")
    server = stack.DatabaseOutputs.of(outputs)
    servers = [server.job, *(one.job for one in server.members)] if server else []
    own = [*servers, *(str(one["job"]) for one in (outputs.get("consumers") or {}).values())]
    using = [
        (claim.job_id, claim.namespace or namespace)
        for one in volumes
        for claim in one.usage.claims
        if claim.job_id and "/periodic-" not in claim.job_id
    ]
    return list(dict.fromkeys([*((job, namespace) for job in own), *sorted(using)]))


def _job(nomad: NomadApi, job_id: str, namespace: str) -> JobLine:
    job = nomad.find(job_path(job_id), namespace=namespace)
    if job is None:
        return JobLine(job_id, "not there", 0, 1, ())
    running = list(filter(is_running, allocations(nomad, job_id, namespace)))
    counts = [int(group.get("Count") or 0) for group in job.get("TaskGroups") or []]
    wanted = sum(counts) if job.get("Type") == "service" and not job.get("Stop") else 0
    status = "stopped" if job.get("Stop") else str(job.get("Status"))
    return JobLine(job_id, status, len(running), wanted, sorted(str(one["NodeName"]) for one in running))
