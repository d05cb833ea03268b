"""A restore of the stack's MySQL server from one of its dumps."""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser
from typing import Any

from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.paths import job_path
from nomad_stateful.nomad.running_job import ENDED
from operate import stack
from operate.asking import confirm
from operate.cluster import wait_for
from operate.command import Command
from operate.errors import OperateError
from operate.options import at_least_0
from operate.ownership import stack_cluster

_ASK_AGAIN_S = 2.0


class RestoreError(OperateError):
    """A restore failed, or there is nothing to restore with."""


def restore(dump: str, source: str, timeout_s: float, *, yes: bool) -> None:
    """Asks, then dispatches the restore job and waits for its end. Raises RestoreError, StackError and TimedOutError.

    The dump is on the dumps' volume, or with the source s3 in the bucket.

    Nomad does not evaluate a job that waits for a volume when the volume is released, so this asks it to.
    """
    known = stack.outputs()
    backup = known.get("mysqlBackup")
    if not backup:
        raise RestoreError("the stack has no backup: set mysql.backup and run `pulumi up`")
    place = backup.get("s3") or ""
    if source == "s3" and not place:
        raise RestoreError("the stack copies no dumps to S3: set mysql.backup.s3 and run `pulumi up`")
    where = f"in {place}" if source == "s3" else "on the dumps' volume"
    confirm(f"Every table in dump {dump} {where} is dropped and made again as it was then. Go on?", yes=yes)
    namespace = known["mysql"]["namespace"]
    nomad = stack_cluster(known["mysql"]["volume"])
    # Jobs of earlier releases know no source.
    meta = {"dump": dump, "from": source} if source == "s3" else {"dump": dump}
    try:
        answer = nomad.put(f"{job_path(backup['restoreJob'])}/dispatch", {"Meta": meta}, namespace=namespace)
        job = str(answer["DispatchedJobID"])
        print(f"==> {job} restores {dump} {where}", file=sys.stderr)
        ended = _ended(nomad, job, namespace, timeout_s)
    finally:
        nomad.close()
    log, allocation = "nomad alloc logs", ended["ID"][:8]
    if ended["ClientStatus"] != "complete":
        raise RestoreError(f"{job} failed. `{log} -stderr {allocation} {_failed_task(ended)}` says why")
    print(f"restored. `{log} {allocation} restore` says from which dump")


def _failed_task(allocation: dict[str, Any]) -> str:
    states = allocation.get("TaskStates") or {}
    return next((name for name, state in states.items() if state.get("Failed")), "restore")


def _ended(nomad: NomadApi, job: str, namespace: str, timeout_s: float) -> dict[str, Any]:
    path = job_path(job)
    next_ask = time.monotonic() + _ASK_AGAIN_S

    def probe() -> dict[str, Any] | None:
        nonlocal next_ask
        allocations = nomad.get(f"{path}/allocations", namespace=namespace) or []
        if not allocations and time.monotonic() >= next_ask:
            nomad.put(f"{path}/evaluate", {"JobID": job, "EvalOptions": {}}, namespace=namespace)
            next_ask = time.monotonic() + _ASK_AGAIN_S
        return next((one for one in allocations if one["ClientStatus"] in ENDED), None)

    return wait_for(
        f"{job} ends",
        probe,
        timeout_s,
        f"The job goes on: see `nomad job status {job}`. While it has no allocation, something holds the dumps' "
        f"volume: see `python -m operate status`; once it is free, run `nomad job eval {job}`.",
    )


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("dump", nargs="?", default="latest", help="name of the dump's file; by default the latest")
    parser.add_argument(
        "--from",
        dest="source",
        choices=("volume", "s3"),
        default="volume",
        help="where the dump is: on the dumps' volume (the default), or in S3 (mysql.backup.s3)",
    )
    parser.add_argument("--timeout", type=at_least_0, default=3600, metavar="SECONDS", help="how long to wait for it")
    parser.add_argument("--yes", action="store_true", help="do not ask")


COMMAND = Command(
    "restore",
    "restore MySQL from one of its dumps, and wait until it is done",
    lambda known: restore(known.dump, known.source, known.timeout, yes=known.yes),
    _arguments,
)
