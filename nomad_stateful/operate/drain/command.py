"""The command `drain`."""

from __future__ import annotations

import json
import time
from argparse import ArgumentParser, Namespace
from typing import Any

from nomad_stateful.columns import columns
from nomad_stateful.ebs.volumes import EbsVolumes
from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.clients import Client
from nomad_stateful.operate import ownership, stack
from nomad_stateful.operate.asking import confirm
from nomad_stateful.operate.cluster import connect
from nomad_stateful.operate.command import Command
from nomad_stateful.operate.drain import node as nodes
from nomad_stateful.operate.drain import plan as plans
from nomad_stateful.operate.drain.plan import DrainPlan
from nomad_stateful.operate.drain.undo import plugins_elsewhere, undo
from nomad_stateful.operate.drain.work import Drain, Options
from nomad_stateful.operate.errors import OperateError
from nomad_stateful.operate.options import add_change_options, duration_s
from nomad_stateful.operate.progress import say

_UNDO_TIMEOUT_S = 180.0


class RefusedError(OperateError):
    """The plan would leave something down, or cannot be done; nothing was changed."""

    exit_status = 4


def drain(known: Namespace) -> None:
    """Plans, asks and drains, or takes a drain back. Raises OperateError and ProviderError."""
    nomad = connect()
    try:
        ownership.required(nomad)
        node = nodes.find(nomad, known.node)
        if known.undo:
            _undo(nomad, node, yes=known.yes, dry_run=known.dry_run)
            return
        ebs = EbsVolumes(stack.aws_place()) if node.instance_id else None
        _drain(nomad, node, ebs, known)
    finally:
        nomad.close()


def _drain(nomad: NomadApi, node: Client, ebs: EbsVolumes | None, known: Namespace) -> None:
    plan = plans.make(nomad, node, ebs.attached_to(node.instance_id) if ebs else [])
    options = Options(known.deadline, keep_system=known.ignore_system, stop_batch=known.stop_batch)
    say(plans.text(plan, keep_system=options.keep_system))
    if known.dry_run and known.json:
        print(json.dumps(plans.as_object(plan), indent=2))
    refuse(plan, leave_down=known.leave_down)
    if known.dry_run:
        return
    work, began = Drain(nomad, ebs, plan, options, say), time.monotonic()
    if plan.is_done(keep_system=options.keep_system):
        say(f"{node.name} is drained already: nothing to do")
    else:
        confirm(f"drain {node.name}?", yes=known.yes)
        _run(work)
    took_s = time.monotonic() - began
    print(json.dumps(_result(work, took_s), indent=2) if known.json else _table(work, took_s))
    say(f"to have it take allocations again: nomad-stateful drain {node.name} --undo")


def _run(work: Drain) -> None:
    try:
        work.run()
    except KeyboardInterrupt:
        name = work.plan.node.name
        raise OperateError(f"interrupted: {name} takes no new allocations. The same command goes on") from None


def refuse(plan: DrainPlan, *, leave_down: bool) -> None:
    """Raises RefusedError where the plan cannot be done, or leaves a job down that nobody asked for."""
    node = plan.node
    if node.status != "ready":
        raise RefusedError(
            f"{node} is {node.status}: it cannot unmount anything. `nomad-stateful status` shows what it holds, "
            "`nomad-stateful recover` what to do"
        )
    if plan.down and not leave_down:
        names = "; ".join(f"{one.allocation.job_id}: {one.stays_down}" for one in plan.down)
        raise RefusedError(
            f"NODE is {node.name}: a job on it would stay down ({names}). Start a client that can take it, or add "
            "--leave-down: it starts again when such a client comes or this one is eligible again"
        )


def _undo(nomad: NomadApi, node: Client, *, yes: bool, dry_run: bool) -> None:
    wanted = plugins_elsewhere(nomad, node)
    if node.eligible and not node.draining:
        say(f"{node} is eligible already")
    else:
        say(f"{node} becomes eligible, and Nomad places what waits for it")
    if dry_run:
        return
    if node.draining or not node.eligible:
        confirm(f"make {node.name} eligible?", yes=yes)
    undo(nomad, node, wanted, _UNDO_TIMEOUT_S, say)


def _result(work: Drain, took_s: float) -> dict[str, Any]:
    return {
        "ok": True,
        "node": plans.as_object(work.plan)["node"],
        "seconds": round(took_s, 1),
        "consumers": [
            {
                "job": mover.leaving.allocation.job_id,
                "volumes": [one.volume.external_id or one.volume.id for one in mover.volumes],
                "releasedSeconds": None if mover.released_s is None else round(mover.released_s, 1),
                "runsOn": mover.runs_on or None,
                "where": [one.where() for one in mover.volumes],
            }
            for mover in work.movers
        ],
    }


def _table(work: Drain, took_s: float) -> str:
    rows = [("JOB", "VOLUME", "LEFT AFTER", "NOW", "RUNS ON")]
    for mover in work.movers:
        for one in mover.volumes:
            after = "-" if mover.released_s is None else f"{mover.released_s:.1f} s"
            rows.append((mover.leaving.allocation.job_id, one.volume.id, after, one.where(), mover.runs_on or "-"))
    table = f"{columns(rows)}\n" if len(rows) > 1 else ""
    return f"{table}{work.plan.node.name} is drained after {took_s:.0f} s"


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("node", metavar="NODE", help="a client's name, id (or its beginning) or EC2 instance id")
    add_change_options(parser)
    parser.add_argument("--deadline", type=duration_s, default=600.0, metavar="TIME", help="give up then (10m)")
    parser.add_argument("--leave-down", action="store_true", help="also stop jobs that no other client can take")
    parser.add_argument("--ignore-system", action="store_true", help="let system jobs and node plugins run on")
    parser.add_argument("--stop-batch", action="store_true", help="stop batch jobs with volumes, instead of waiting")
    parser.add_argument("--undo", action="store_true", help="make the client eligible again, and end a drain of it")


COMMAND = Command(
    "drain",
    "take a client out of service: consumers first, their volumes seen detached, plugins last",
    drain,
    _arguments,
    lambda known: not known.dry_run,
)
