"""Rules that keep one thing from being configured twice: a job in Nomad, a volume at its storage provider."""

from collections.abc import Iterable, Iterator

from nomad_stateful.program.settings import rules
from nomad_stateful.program.settings.consumer import Consumer
from nomad_stateful.program.settings.database import DatabaseSection
from nomad_stateful.program.settings.errors import Refusal
from nomad_stateful.program.settings.failover import Failover
from nomad_stateful.program.settings.metrics import Metrics, database_exporter
from nomad_stateful.program.settings.plugin import Plugin
from nomad_stateful.program.settings.volume import Volume

# Their ids name one volume, whichever plugin mounts it; those of other drivers are the plugin's own.
_GLOBAL = frozenset({"ebs", "efs"})


def jobs(
    plugins: list[Plugin],
    database: DatabaseSection | None,
    consumers: list[Consumer],
    metrics: Metrics | None,
    failover: Failover | None,
) -> Iterator[tuple[str, str]]:
    """Yields the setting and the id of every job, which its variable's path and its service are named by."""
    for plugin in plugins:
        for role, job in rules.job_ids(plugin).items():
            yield f"plugins.{plugin.id}.jobIds.{'controller' if role == 'controller' else 'node'}", job
    if database is not None:
        yield from ((f"{database.kind.name}.jobId", job) for job in database.job_ids)
        yield from ((f"{database.kind.name}.backup.jobId", job) for job in database.backup_job_ids)
    yield from ((f"consumers.{consumer.name}.name", consumer.name) for consumer in consumers)
    exporter = database_exporter(metrics, database)
    if database is not None and exporter is not None:
        yield f"metrics.{database.kind.name}.jobId", exporter.job_id
    if metrics is not None and metrics.volumes is not None:
        yield "metrics.volumes.jobId", metrics.volumes.job_id
    if failover is not None:
        yield "failover.jobId", failover.job_id


def check_jobs(found: Iterable[tuple[str, str]]) -> None:
    """No two jobs have one id: the second would take the first one's place."""
    first: dict[str, str] = {}
    for key, job in found:
        if job in first:
            named = " (the job that restores)" if job.endswith("-restore") and key.endswith(".backup.jobId") else ""
            rule = f"{first[job]} gives another job this id{named}, and one job would replace the other"
            raise Refusal(key, job, rule, "give each job an id of its own")
        first[job] = key


def check_adopted(adopt: list[str], found: Iterable[tuple[str, str]], volumes: list[Volume]) -> None:
    """What is adopted is something of this configuration."""
    known = {job for _, job in found} | {volume.name for volume in volumes}
    for index, name in enumerate(adopt):
        if name not in known:
            rule = "no job and no volume of this configuration has this id"
            raise Refusal(f"adopt.{index}", name, rule, f"remove it, or use one of {', '.join(sorted(known))}")


def check_external_ids(volumes: list[Volume], plugins: list[Plugin]) -> None:
    """No volume is registered under two names: Nomad counts the writers of each registration separately."""
    first: dict[tuple[str, str], str] = {}
    for volume in volumes:
        if volume.external_id is None:
            continue
        plugin = rules.plugin_of(volume, plugins)
        identity = external_identity(plugin.driver, plugin.id, volume.external_id)
        if identity in first:
            rule = f"volumes.{first[identity]} is the same volume, and Nomad counts the writers of each name separately"
            remedy = f"mount {first[identity]} wherever it is needed, and remove {volume.name}"
            raise Refusal(f"volumes.{volume.name}.externalId", volume.external_id, rule, remedy)
        first[identity] = volume.name


def external_identity(driver: str, plugin_id: str, external_id: str) -> tuple[str, str]:
    """Returns what two volumes have in common exactly if they are one."""
    if driver == "efs":
        # FILE_SYSTEM[:FOLDER[:ACCESS_POINT]], of which an access point names its folder itself.
        system, folder, access_point = [*external_id.split(":"), "", ""][:3]
        return "efs", f"{system}:{access_point or folder.strip('/')}"
    return (driver if driver in _GLOBAL else plugin_id), external_id
