"""A restore of the stack's MySQL server from one of its dumps, waited for."""

from __future__ import annotations

import sys
import time
from typing import Any
from urllib.parse import quote

from nomad_stateful.nomad.api import NomadApi
from operate import stack
from operate.cluster import wait_for
from operate.ownership import stack_cluster

_ASK_AGAIN_S = 2.0


class RestoreError(Exception):
    """A restore failed, or there is nothing to restore with."""


def restore(dump: str, timeout_s: float) -> None:
    """Dispatches the job that restores and waits for its end; raises RestoreError, StackError and WaitedTooLong.

    Nomad does not look again at a job that waits for a volume when the volume is released, so it is asked to.
    """
    known = stack.outputs()
    backup = known.get("mysqlBackup")
    if not backup:
        raise RestoreError("the stack makes no dumps: set mysql.backup and run `pulumi up`")
    namespace = known["mysql"]["namespace"]
    nomad = stack_cluster(known["mysql"]["volume"])
    try:
        answer = nomad.put(f"job/{backup['restoreJob']}/dispatch", {"Meta": {"dump": dump}}, namespace=namespace)
        job = str(answer["DispatchedJobID"])
        print(f"==> {job} restores {dump}", file=sys.stderr)
        ended = _ended(nomad, job, namespace, timeout_s)
    finally:
        nomad.close()
    log = f"`nomad alloc logs {ended['ID'][:8]}`"
    if ended["ClientStatus"] != "complete":
        raise RestoreError(f"{job} failed. {log.replace('logs', 'logs -stderr')} says why")
    print(f"restored. {log} says from which dump")


def _ended(nomad: NomadApi, job: str, namespace: str, timeout_s: float) -> dict[str, Any]:
    path = f"job/{quote(job, safe='')}"
    next_ask = time.monotonic() + _ASK_AGAIN_S

    def probe() -> dict[str, Any] | None:
        nonlocal next_ask
        allocations = nomad.get(f"{path}/allocations", namespace=namespace) or []
        if not allocations and time.monotonic() >= next_ask:
            nomad.put(f"{path}/evaluate", {"JobID": job, "EvalOptions": {}}, namespace=namespace)
            next_ask = time.monotonic() + _ASK_AGAIN_S
        return next((one for one in allocations if one["ClientStatus"] in ("complete", "failed", "lost")), None)

    return wait_for(
        f"{job} ends",
        probe,
        timeout_s,
        f"It goes on by itself: `nomad job status {job}`. While it has no allocation, something holds the dumps' "
        f"volume: `python -m operate status`; once it is free, `nomad job eval {job}`.",
    )
