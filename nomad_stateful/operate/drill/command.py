"""The command `drill`."""

import re
import signal
from argparse import ArgumentParser, Namespace
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType

from nomad_stateful.ebs.ec2_client import refuse_another_account
from nomad_stateful.ebs.volumes import is_ebs_volume
from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.operate import stack
from nomad_stateful.operate.drill import dumps, scratch, source
from nomad_stateful.operate.drill import job as jobs
from nomad_stateful.operate.drill import report as reports
from nomad_stateful.operate.drill.model import DrillError, Json, Options, Target
from nomad_stateful.operate.drill.report import Report
from nomad_stateful.operate.drill.run import Drill, plan, removal_plan
from nomad_stateful.operate.frame import Checks, Frame, age_s, at_least_0, framed, interruptible
from nomad_stateful.operate.ownership import namespaces


def drill(frame: Frame, options: Options, *, clean: bool = False, metrics: str = "") -> Report:
    """Makes one drill, prints and returns its report. Raises DrillError where it is red, or cannot be made."""
    known = stack.outputs()
    server = stack.DatabaseOutputs.of(known)
    volume = options.volume or _database_volume(known, server)
    _check(known, volume)
    report = Report(volume, datetime.now(UTC))

    def resume() -> str:
        left = "Something is left: the next drill removes it, or --clean"
        return f"nothing is proved. {left if report.left else 'What the drill made is removed'}"

    with frame.cluster(volume) as nomad, interruptible(resume):
        # A volume whose deletion nobody waited for has to go too: a request to end leads to the removal.
        signal.signal(signal.SIGTERM, _interrupt)
        place_of_aws = stack.aws_place()
        refuse_another_account(place_of_aws, f"volume {volume}")
        live = namespaces(nomad, {volume: known["volumes"][volume]}).get(volume, "default")
        _refuse_live(options.namespace, live)
        target = _target(known, volume, options)
        one = Drill(nomad, place_of_aws, target, report)
        if clean:
            frame.agree("Run it?", removal_plan(target))
            with scratch.provided(nomad, target.namespace):
                one.clean()
        else:
            backup = source.Sources(server, nomad, place_of_aws, target).choose(options, report)
            source.judge(report, options.max_age_s)
            frame.agree("Run it?", plan(nomad, target, report, options, backup.scratch if backup else None))
            if backup is not None:
                with scratch.provided(nomad, target.namespace):
                    job = _job(nomad, known, live, target, options)
                    backup.add(job)
                    one.run(backup.scratch, job, options.timeout_s, keep=options.keep)
                if options.max_lag_s is not None:
                    source.judge_newest(report, options.max_lag_s)
    _tell(frame, report, clean=clean, metrics=metrics)
    return report


def _refuse_live(namespace: str, live: str) -> None:
    """Raises DrillError where a drill would run beside what it drills."""
    if namespace == live:
        raise DrillError(
            f"--namespace is {namespace}, which the stack itself runs in: a drill has a namespace of its own. Leave it "
            "out (drill), or name another"
        )


def _tell(frame: Frame, report: Report, *, clean: bool, metrics: str) -> None:
    if clean:
        if not report.ok:
            raise DrillError("; ".join(one.what for one in report.findings))
        print("nothing of a drill is left")
        return
    if metrics:
        reports.write_metrics(report, Path(metrics))
    frame.tell(reports.as_json(report), reports.text(report))
    if not report.ok:
        first, *others = report.findings
        more = f" (and {len(others)} more)" if others else ""
        raise DrillError(f"the drill of volume {report.volume} failed: {first.what}{more}. Next: {first.next}")


def _job(nomad: NomadApi, known: Json, live: str, target: Target, options: Options) -> Json:
    if options.check:
        return jobs.consumer(nomad, live, _entry(known, target.volume)["nomadId"], target, options.check)
    return jobs.of_server(nomad, stack.resources(), stack.database_outputs(), target, options)


def _target(known: Json, volume: str, options: Options) -> Target:
    entry = _entry(known, volume)
    resources = stack.resources()
    state = next(
        (
            one
            for one in resources
            if one["type"] in stack.REGISTRATIONS and one["inputs"].get("volumeId") == entry["nomadId"]
        ),
        None,
    )
    if state is None:
        raise DrillError(f"the stack's state has no registration of volume {volume}: run `pulumi up` first")
    given, server = state["inputs"], stack.DatabaseOutputs.of(known)
    _, _, urn = str(state["urn"]).partition("urn:pulumi:")
    stack_name, project = urn.split("::")[:2]
    mount, capability = given.get("mountOptions") or {}, given["capabilities"][0]
    plugin = (known.get("plugins") or {}).get(entry["plugin"]) or {}
    return Target(
        volume=volume,
        volume_id=str(entry["id"]),
        made_from=stack.made_from(resources, volume),
        tag=f"{project}/{stack_name}/{volume}",
        id=re.sub(r"[^A-Za-z0-9_-]", "-", f"drill-{project}-{stack_name}-{volume}"),
        namespace=options.namespace,
        zone=options.zone or str(entry["zone"]),
        plugin=str(entry["plugin"]),
        topology_key=str(plugin.get("topologyKey") or ""),
        mount_options={
            key: value
            for key, value in (("FSType", mount.get("fsType")), ("MountFlags", mount.get("mountFlags")))
            if value
        },
        access_mode=str(capability["accessMode"]),
        attachment_mode=str(capability["attachmentMode"]),
        kind=server.kind if server and not options.check else None,
    )


def _entry(known: Json, volume: str) -> Json:
    found: Json = known["volumes"][volume]
    return found


def _check(known: Json, volume: str) -> None:
    """Raises DrillError where it is not an EBS volume of the stack."""
    volumes = known.get("volumes") or {}
    if volume not in volumes:
        raise DrillError(f"the stack has no volume {volume}: it has {', '.join(sorted(volumes)) or 'none'}")
    if not is_ebs_volume(str(volumes[volume]["id"])):
        raise DrillError(
            f"volume {volume} is {volumes[volume]['id']}, which is not an EBS volume: a drill restores EBS snapshots. "
            "Prove its backups with its own storage system"
        )


def _database_volume(known: Json, server: stack.DatabaseOutputs | None) -> str:
    if server is None:
        volumes = ", ".join(sorted(known.get("volumes") or {}))
        remedy = f"name a volume ({volumes})" if volumes else "run `pulumi up` first"
        raise DrillError(f"the stack has no database server: {remedy}")
    return server.volume


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    with suppress(ValueError):
        # Only the first one: the removal goes on.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("volume", nargs="?", default="", help="the volume's name; by default the database's")
    parser.add_argument("--snapshot", default="", metavar="ID", help="restore this snapshot; by default the newest")
    parser.add_argument(
        "--snapshot-stack", default="", metavar="PROJECT/STACK", help="with --snapshot: the other stack whose it is"
    )
    parser.add_argument(
        "--to",
        type=source.moment,
        metavar="TIME",
        help="go to this time by binary logs, such as 2026-11-22T10:15:00Z, or latest (pointInTime)",
    )
    parser.add_argument(
        "--dump",
        type=dumps.dump_name,
        metavar="NAME",
        help="load this dump of backup.s3, or latest, into a new server on an empty volume",
    )
    parser.add_argument("--zone", default="", help="restore in this zone; by default the volume's own")
    parser.add_argument("--namespace", default="drill", help="Nomad namespace of the drill's own; by default drill")
    parser.add_argument(
        "--check", default="", metavar="COMMAND", help="run this in the consumer's task; a database needs none"
    )
    parser.add_argument(
        "--newest", default="", metavar="SELECT", help="statement that returns the newest row's time, in UTC"
    )
    parser.add_argument(
        "--max-lag",
        type=age_s,
        metavar="AGE",
        help="how much older than the snapshot or dump its newest row may be, such as 5m",
    )
    parser.add_argument("--max-age", type=age_s, metavar="AGE", help="how old the snapshot or dump may be, such as 26h")
    parser.add_argument(
        "--timeout", type=at_least_0, default=3600, metavar="SECONDS", help="how long restore and checks may take"
    )
    parser.add_argument(
        "--metrics", default="", metavar="FILE", help="write the result for Prometheus's textfile collector"
    )
    parser.add_argument("--clean", action="store_true", help="only remove what an earlier drill left")
    parser.add_argument("--json", action="store_true", help="print the report as an object for scripts")
    parser.add_argument("--yes", action="store_true", help="do not ask")


def _run(frame: Frame, known: Namespace) -> None:
    if known.check and known.newest:
        raise DrillError(
            "--newest is a statement for the database, and --check a command of its own: leave one of them out"
        )
    if known.max_lag is not None and not known.newest:
        raise DrillError("--max-lag is about the newest row: add --newest 'SELECT MAX(created) FROM …'")
    if known.check and known.to:
        raise DrillError("--to is for the database's own check: leave --check out")
    if known.dump and (given := [name for name in ("snapshot", "to", "check") if getattr(known, name)]):
        raise DrillError(f"--dump fills an empty server, so there is no --{given[0]}: leave one of them out")
    if known.snapshot_stack and not known.snapshot:
        raise DrillError("--snapshot-stack says whose --snapshot is: add that, or leave it out")
    options = Options(
        volume=known.volume,
        snapshot=known.snapshot,
        snapshot_stack=known.snapshot_stack,
        zone=known.zone,
        namespace=known.namespace,
        check=known.check,
        newest=known.newest,
        max_age_s=known.max_age,
        max_lag_s=known.max_lag,
        to=known.to or "",
        dump=known.dump or "",
        timeout_s=known.timeout,
    )
    drill(frame, options, clean=known.clean, metrics=known.metrics)


COMMAND = framed(
    "drill",
    "prove that the newest snapshot, or a dump, can be restored: on a scratch volume, by the real server",
    _run,
    _arguments,
    checks=Checks(turn="has a lock of its own, of the volume", pulumi="changes nothing that Pulumi manages", clock=""),
)
