"""What is warned of and refused of a database server: clients that cannot verify it, failing dumps, a downgrade."""

from collections.abc import Mapping
from typing import Any

from nomad_stateful.nomad.commands import scope
from nomad_stateful.pages import located
from nomad_stateful.program.settings import DatabaseSection, Problem, Settings
from nomad_stateful.program.settings.metrics import database_exporter


def unverified(settings: Settings, section: DatabaseSection) -> list[str]:
    """Returns the warning of jobs whose passwords go to whoever answers at the server's address."""
    exporter = database_exporter(settings.metrics, section)
    jobs = [*section.backup_job_ids, *([exporter.job_id] if exporter else [])]
    if section.authority or not jobs:
        return []
    key = f"{section.kind.name}.tlsCertificate"
    what = f"{key}.ca is not set: {', '.join(jobs)} log in at whatever answers at the server's address"
    remedy = f"Set {key} with its ca, by which they verify the server (docs/consumers.md, TLS)"
    return [located(f"{what}, as {section.kind.superuser} too. {remedy}")]


def unreadable(section: DatabaseSection, job: Mapping[str, Any]) -> list[Problem]:
    """Returns the problem with an image that cannot read what the one wrote that has the same data directory now."""
    for task in job["tasks"]:
        # Of a set a volume's name has its number behind it.
        volumes = {name.partition("[")[0] for name in task["volumes"]}
        same = section.volume in volumes and f"{section.kind.data_dir_argument}{section.data_dir}" in task["args"]
        version = section.kind.image_version
        runs, wanted = version(task["image"]), version(section.image)
        if not same or not runs or not wanted or runs[0] != wanted[0]:
            continue
        problem = section.kind.files_problem(wanted[1], runs[1])
        if problem is not None:
            rule = f"the server runs {task['image']}, and {problem.rule}"
            remedy = problem.remedy.format(image=task["image"])
            return [Problem(f"{section.kind.name}.image", section.image, rule, remedy)]
    return []


def former_group(section: DatabaseSection, job: Mapping[str, Any], *, is_set: bool) -> list[Problem]:
    """Returns the problem with a group that is to be a single server and lose its volumes in the same `up`."""
    if is_set or "router" not in {task["name"] for task in job["tasks"]}:
        return []
    rule = f"{section.job_id} is a group of three servers, whose rows the first has to have before the others go"
    remedy = f"leave volumes.{section.volume} the set that it is for this `up`; a later one may take the others"
    return [Problem(f"{section.kind.name}.group", "left out", rule, remedy)]


def failing_dumps(section: DatabaseSection, job: Mapping[str, Any], namespace: str) -> list[str]:
    """Returns a sentence for each run of the dumps that fails."""
    return [_failing(f"{section.kind.name}.backup", run, namespace) for run in job["failingRuns"]]


def _failing(key: str, run: Mapping[str, Any], namespace: str) -> str:
    what = "the copy to S3 of" if run["task"] == "upload" else "the dump"
    again = "It is tried again." if run["again"] else "It is not tried again: `nomad job periodic force` after the fix."
    log = f"nomad alloc logs -stderr{scope(namespace)} {run['allocationId'][:8]} {run['task'] or 'dump'}"
    return (
        f"{key}: {what} {run['jobId']} has failed {int(run['failures'])} times since {run['since']} "
        f"({run['reason']}). See `{log}`. {again}"
    )
