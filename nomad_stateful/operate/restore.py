"""A restore of the stack's database server: from one of its dumps, or beside it to a point in time."""

import secrets
import sys
from argparse import ArgumentParser, Namespace
from typing import Any

from nomad_stateful.nomad import redeployment
from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.commands import scope
from nomad_stateful.nomad.paths import job_path
from nomad_stateful.nomad.running_job import ENDED, allocations, has_succeeded
from nomad_stateful.operate import stack
from nomad_stateful.operate.cluster import wait_for
from nomad_stateful.operate.drill.command import drill
from nomad_stateful.operate.drill.model import Options
from nomad_stateful.operate.drill.report import Report
from nomad_stateful.operate.drill.source import moment
from nomad_stateful.operate.dumps import restoring
from nomad_stateful.operate.engine import Engine
from nomad_stateful.operate.errors import OperateError
from nomad_stateful.operate.frame import Checks, Frame, at_least_0, framed, interruptible
from nomad_stateful.waiting import Stopwatch

_ASK_AGAIN_S = 2.0
_LATEST = "latest"


def restore(frame: Frame, dump: str, source: str, timeout_s: float) -> None:
    """Asks, then dispatches the restore job and waits for its end. Raises OperateError.

    The dump is on the dumps' volume, or with the source s3 in the bucket.

    Nomad does not evaluate a job that waits for a volume when the volume is released, so this asks it to.
    """
    server = stack.database_outputs()
    backup, settings = server.backup, f"{server.kind.name}.backup"
    if not backup:
        raise OperateError(f"the stack has no backup: set {settings} and run `pulumi up`")
    place = backup.get("s3") or ""
    if source == "s3" and not place:
        raise OperateError(f"the stack copies no dumps to S3: set {settings}.s3 and run `pulumi up`")
    where = f"in {place}" if source == "s3" else "on the dumps' volume"
    # A snapshot of one member is none of the group.
    back = f"nomad-stateful snapshot {server.volume}"
    if server.members:
        back = f"nomad job periodic force{scope(server.namespace)} {backup['job']}"
    frame.agree(
        f"Every table in dump {dump} {where} is dropped and made again as it was then. If that fails on the way, some "
        f"are missing: a {'dump' if server.members else 'snapshot'} (`{back}`) is the way back. Go on?"
    )
    # Jobs of earlier releases know no source.
    meta = {"dump": dump, "from": source} if source == "s3" else {"dump": dump}
    with frame.cluster(server.volume) as nomad, frame.turn(nomad, dump, Engine(stack.chosen())):
        if left := restoring(nomad, server):
            raise OperateError(left)
        job = _dispatched(nomad, backup["restoreJob"], meta, server.namespace)
        print(f"==> {job} restores {dump} {where}", file=sys.stderr)
        with interruptible(lambda: _goes_on(job, server.namespace)):
            ended = _ended(nomad, job, server.namespace, timeout_s)
        if not has_succeeded(ended):
            raise _given_up(nomad, job, server.namespace, ended)
    print(f"restored. `nomad alloc logs{scope(server.namespace)} {ended['ID'][:8]} restore` says from which dump")


def _given_up(nomad: NomadApi, job: str, namespace: str, ended: dict[str, Any]) -> OperateError:
    """Deregisters a restore that did not end well; returns what to say of it. Raises NomadError.

    Whatever the job says, Nomad places another allocation for one that was lost or stopped, once the volume is free:
    that may be hours later, when others have written.
    """
    nomad.delete(job_path(job), namespace=namespace)
    if ended["ClientStatus"] != "failed":
        lost = ended["ClientStatus"] == "lost"
        how = f"lost with its client {ended['NodeName']}" if lost else "stopped before its end"
        then = "Once that client is back or off, restore again" if lost else "Restore again"
        return OperateError(f"{job} was {how}: how far it came is not known, and it does not run again. {then}")
    log = f"nomad alloc logs -stderr{scope(namespace)} {ended['ID'][:8]} {_failed_task(ended)}"
    return OperateError(f"{job} failed. `{log}` says why")


def _dispatched(nomad: NomadApi, job: str, meta: dict[str, str], namespace: str) -> str:
    """Dispatches the job, and returns the run's id.

    Nomad may have made the run whose answer was lost, as in an election: by the token, it makes no other for it.
    """
    once = secrets.token_hex(16)
    answer = nomad.put(f"{job_path(job)}/dispatch", {"Meta": meta}, namespace=namespace, idempotency_token=once)
    return str(answer["DispatchedJobID"])


def _failed_task(allocation: dict[str, Any]) -> str:
    states = allocation.get("TaskStates") or {}
    return next((name for name, state in states.items() if state.get("Failed")), "restore")


def _ended(nomad: NomadApi, job: str, namespace: str, timeout_s: float) -> dict[str, Any]:
    asked = Stopwatch()

    def probe() -> dict[str, Any] | None:
        found = allocations(nomad, job, namespace)
        if not found and asked.seconds >= _ASK_AGAIN_S:
            redeployment.evaluate(nomad, namespace, job)
            asked.restart()
        return next((one for one in found if one["ClientStatus"] in ENDED), None)

    return wait_for(
        f"{job} ends",
        probe,
        timeout_s,
        _goes_on(job, namespace),
    )


def _goes_on(job: str, namespace: str) -> str:
    at = f"{scope(namespace)} {job}"
    return (
        f"{job} goes on: see `nomad job status{at}`. While it has no allocation, something holds the dumps' volume "
        f"(`nomad-stateful status`): once that is free, `nomad job eval{at}` begins it, and until then `nomad job "
        f"stop{at}` gives it up"
    )


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("dump", nargs="?", default=_LATEST, help="name of the dump's file; by default the latest")
    parser.add_argument(
        "--from",
        dest="source",
        choices=("volume", "s3"),
        default="volume",
        help="where the dump is: on the dumps' volume (the default), or in S3 (backup.s3)",
    )
    parser.add_argument(
        "--to",
        type=moment,
        metavar="TIME",
        help="restore to this time (2026-11-22T10:15:00Z, or latest) beside the running server, from a snapshot and "
        "the binary logs: the result is a snapshot",
    )
    parser.add_argument("--snapshot", default="", metavar="ID", help="with --to: begin with this snapshot")
    parser.add_argument("--zone", default="", help="with --to: restore in this zone; by default the volume's own")
    parser.add_argument("--namespace", default="drill", help="with --to: Nomad namespace of its own; by default drill")
    parser.add_argument(
        "--newest", default="", metavar="SELECT", help="with --to: statement that returns the newest row's time, in UTC"
    )
    parser.add_argument("--json", action="store_true", help="with --to: print the report as an object for scripts")
    parser.add_argument("--timeout", type=at_least_0, default=3600, metavar="SECONDS", help="how long to wait for it")
    parser.add_argument("--yes", action="store_true", help="do not ask")


def _run(frame: Frame, known: Namespace) -> None:
    if not known.to:
        if given := [name for name in ("snapshot", "zone", "newest", "json") if getattr(known, name)]:
            raise OperateError(f"--{given[0]} is for a restore to a point in time: add --to, or leave it out")
        restore(frame, known.dump, known.source, known.timeout)
        return
    if known.dump != _LATEST or known.source != "volume":
        raise OperateError("--to restores from a snapshot and the binary logs: name no dump, and leave --from out")
    options = Options(
        volume="",
        snapshot=known.snapshot,
        zone=known.zone,
        namespace=known.namespace,
        newest=known.newest,
        to=known.to,
        keep=True,
        timeout_s=known.timeout,
    )
    report = drill(frame, options)
    if not known.json:
        server = stack.database_outputs()
        print(_way_on_of_group(report) if server.members else _way_on(report, server.kind.name))


def _way_on_of_group(report: Report) -> str:
    # A set's volumes from one snapshot would be one server thrice, and new transactions had the names of old ones.
    return (
        f"\nTo go on from it, give a stack of its own a single server on a volume with\n"
        f"    snapshotId: {report.kept}\n    snapshotStack: {stack.tag()}\n"
        "and run `pulumi up` there; then it becomes a group as docs/group.md says. This group stays as it is"
    )


def _way_on(report: Report, section: str) -> str:
    name = f"{report.volume}-{report.to:%Y%m%d-%H%M%S}"
    return (
        f"\nTo go on from it, add a volume like {report.volume} to the settings under a new name, with\n"
        f"    name: {name}\n    snapshotId: {report.kept}\n"
        f"set {section}.volume to {name}, and run `pulumi up`. The old volume stays: docs/point-in-time.md"
    )


COMMAND = framed(
    "restore",
    "restore the database from one of its dumps, or to a point in time beside it, and wait until it is done",
    _run,
    _arguments,
    checks=Checks(clock=""),
)
