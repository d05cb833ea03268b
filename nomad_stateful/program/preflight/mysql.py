"""What is warned of and refused of a MySQL server: clients that cannot verify it, failing dumps, a downgrade."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from nomad_stateful.program.settings import Mysql, Problem, Settings
from nomad_stateful.program.settings.metrics import mysql_exporter

# Of these MySQL takes an older patch for the files of a newer one; of no other.
LONG_TERM = ((8, 4), (9, 7))
_TAG = re.compile(r"(?P<name>[^@]+):(?P<version>\d+\.\d+(\.\d+)?)(?![\d.])[\w.-]*(@.*)?")


def unverified(settings: Settings, mysql: Mysql) -> list[str]:
    """Returns the warning of jobs whose passwords go to whoever answers at the server's address."""
    exporter = mysql_exporter(settings.metrics, mysql)
    jobs = [*mysql.backup_job_ids, *([exporter.job_id] if exporter else [])]
    if mysql.authority or not jobs:
        return []
    what = f"mysql.tlsCertificate.ca is not set: {', '.join(jobs)} log in at whatever answers at the server's address"
    remedy = "Set mysql.tlsCertificate with its ca, by which they verify the server (docs/consumers.md, TLS)"
    return [f"{what}, as root too. {remedy}"]


def downgrade(mysql: Mysql, job: Mapping[str, Any]) -> list[Problem]:
    """Returns the problem with an image older than the one that writes the same data directory now."""
    for task in job["tasks"]:
        same = mysql.volume in task["volumes"] and f"--datadir={mysql.data_dir}" in task["args"]
        runs, wanted = _version(task["image"]), _version(mysql.image)
        if same and runs and wanted and runs[0] == wanted[0] and older(wanted[1], runs[1]):
            return [
                Problem(
                    "mysql.image",
                    mysql.image,
                    f"the server runs {task['image']}, and an older one cannot read what that wrote",
                    f"keep {task['image']} or a newer one; to go back, dump with it and restore into a server of the "
                    "older image on a new volume",
                )
            ]
    return []


def older(wanted: Sequence[int], runs: Sequence[int]) -> bool:
    """Returns whether a version is too old for the files of another."""
    if tuple(wanted[:2]) != tuple(runs[:2]):
        return tuple(wanted[:2]) < tuple(runs[:2])
    known = len(wanted) == len(runs) == 3
    return known and tuple(wanted) < tuple(runs) and tuple(runs[:2]) not in LONG_TERM


def _version(image: str) -> tuple[str, tuple[int, ...]] | None:
    found = _TAG.fullmatch(image)
    return (found["name"], tuple(map(int, found["version"].split(".")))) if found else None


def failing_dumps(job: Mapping[str, Any]) -> list[str]:
    """Returns a sentence for each run of the dumps that fails."""
    return [_failing(run) for run in job["failingRuns"]]


def _failing(run: Mapping[str, Any]) -> str:
    what = "the copy to S3 of" if run["task"] == "upload" else "the dump"
    again = "It is tried again." if run["again"] else "It is not tried again: `nomad job periodic force` after the fix."
    return (
        f"mysql.backup: {what} {run['jobId']} has failed {int(run['failures'])} times since {run['since']} "
        f"({run['reason']}). See `nomad alloc logs -stderr {run['allocationId'][:8]} {run['task'] or 'dump'}`. {again}"
    )
