"""A dump in S3, as a drill restores it: which one, and whether a run of the stack made it."""

from argparse import ArgumentTypeError
from collections.abc import Mapping
from datetime import timedelta

from nomad_stateful.databases.dumps import begun, is_dump, launched, stem
from nomad_stateful.databases.operations import operations
from nomad_stateful.ebs.ec2_client import AwsPlace
from nomad_stateful.ebs.volumes import EbsVolumes
from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.paths import job_path
from nomad_stateful.nomad.periodic_runs import outcomes
from nomad_stateful.operate.drill import job as jobs
from nomad_stateful.operate.drill.model import LATEST, DrillError, Dump, Json, Options, Scratch, Target
from nomad_stateful.operate.drill.report import Report
from nomad_stateful.operate.point_in_time.logs import bucket
from nomad_stateful.operate.stack import DatabaseOutputs

_GIB = 1 << 30
_CLOCKS = timedelta(minutes=5)
"""How far clocks may be apart."""


def restore_job(server: DatabaseOutputs | None, nomad: NomadApi, target: Target) -> tuple[str, Json]:
    """Returns the job that makes the stack's dumps, and the one that restores them, by whose tasks a drill does too.

    Raises DrillError where there is none that fetches them from S3, and NomadError.
    """
    if server is None:
        raise DrillError("--dump: the stack has no database server: leave --dump out")
    settings, backup = f"{server.kind.name}.backup", server.backup
    if not backup:
        raise DrillError(f"--dump: the stack makes no dumps: set {settings} and {settings}.s3, and run `pulumi up`")
    if target.volume not in [one.volume for one in server.servers]:
        raise DrillError(
            f"--dump: volume {target.volume} is not {server.kind.title}'s: leave --dump out, or name {server.volume}"
        )
    if not backup.get("s3"):
        raise DrillError(
            f"--dump: {settings}.s3 is not set, and a dump that lies on its volume alone is not drilled, since that "
            f"has one writer: set it ({settings}.s3: {{}}) and run `pulumi up`"
        )
    job: Json = nomad.find(job_path(str(backup["restoreJob"])), namespace=server.namespace) or {}
    if not any(task["Name"] == jobs.FETCH for group in job.get("TaskGroups") or [] for task in group["Tasks"]):
        raise DrillError(f"job {backup['restoreJob']} fetches no dumps from {backup['s3']}: run `pulumi up`")
    return str(backup["job"]), job


def made(server: DatabaseOutputs | None, nomad: NomadApi) -> dict[str, bool]:
    """Returns whether its run succeeded, by the names of the dumps, the newest first, as far as Nomad remembers.

    A run that did has read its copy back, and no copy is overwritten.
    """
    if server is None or not server.backup:
        return {}
    ending = operations(server.kind.name).drill.dump_ending
    runs = outcomes(nomad, str(server.backup["job"]), server.namespace)
    return {f"{stem(moment)}.{ending}": ended for run, ended in runs.items() if (moment := launched(run))}


def choose(job: Json, aws: AwsPlace, options: Options, report: Report, runs: Mapping[str, bool]) -> Dump | None:
    """Notes the dump in the report, and returns it; None where there is none at all.

    The latest is the newest that a run of the stack has made. Without any the newest name is drilled, with a note:
    whoever may write to S3 can give a name of any time. It is red where Nomad has runs of before, and none of it.
    Raises DrillError where the named one is not there, and botocore's errors.
    """
    [group] = job["TaskGroups"]
    fetcher = jobs.task_of(group["Tasks"], jobs.FETCH)
    name, prefix = (jobs.argument(fetcher, one) for one in ("bucket", "prefix"))
    report.dumps = f"s3://{name}/{prefix}"
    stored = bucket(aws, fetcher["Env"]["AWS_REGION"], name).list(prefix)
    objects = {key.removeprefix(prefix): one for key, one in stored.items()}
    found = {name: Dump(name, taken, one.size, one.stored) for name, one in objects.items() if (taken := begun(name))}
    # A name of a later time than its upload is of a clock that was ahead, or of no dump.
    there = [name for name, one in found.items() if one.taken <= one.stored + _CLOCKS]
    is_latest = options.dump == LATEST
    if not is_latest and options.dump not in found:
        names = ", ".join(sorted(found)) or "none"
        raise DrillError(f"there is no dump {options.dump} in {report.dumps}; these are there: {names}")
    wanted = there if is_latest else [options.dump]
    own = next((name for name, succeeded in runs.items() if succeeded and name in wanted), "")
    newest = max(wanted, default="")
    report.backup = dump = found.get(own or newest)
    if dump is None or own == newest:
        return dump
    unknown = f"Nomad has no successful run of {report.dump_job} that made {newest}: only its name says whose it is"
    if own and is_latest:
        report.notes.append(f"{unknown}, so {own} is the latest")
    elif is_latest and newest not in runs and min(runs, default=newest) < newest:
        report.wrong(
            f"{unknown}, and Nomad has earlier runs still",
            f"see who put it there (CloudTrail's data events); {report.dump_now}. Where no dump can be made, drill a "
            f"dump by its name (--dump {newest})",
        )
    else:
        report.notes.append(f"{unknown}. Nomad forgets runs (job_gc_threshold, 4 h by default)")
    return dump


def empty_for(place: AwsPlace, target: Target, dump: Dump) -> Scratch:
    """Returns an empty volume as large as the live one, with room for the dump itself. Raises DrillError."""
    live = EbsVolumes(place).find(target.volume_id)
    if live is None:
        raise DrillError(
            f"--dump: EBS volume {target.volume_id} of volume {target.volume} is gone, and an empty one would have "
            "its size: run `pulumi up` first"
        )
    return Scratch(live.size_gib + -(-dump.size // _GIB))


def dump_name(text: str) -> str:
    """Returns a checked --dump: latest, or the name of a dump's file. Raises ArgumentTypeError."""
    if text != LATEST and not is_dump(text):
        raise ArgumentTypeError(f"{text} is no dump: write its file's name, as 20260101T030000Z.sql.gz, or latest")
    return text
