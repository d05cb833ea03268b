"""The command `drain`, and the way back: a drained client gets allocations again."""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from typing import Any

from nomad_stateful.columns import columns
from nomad_stateful.ebs.volumes import EbsVolumes
from nomad_stateful.nomad import clients
from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.clients import Client
from nomad_stateful.operate import group, stack
from nomad_stateful.operate.cluster import wait_for
from nomad_stateful.operate.drain import node as nodes
from nomad_stateful.operate.drain import plan as plans
from nomad_stateful.operate.drain.node import Allocation
from nomad_stateful.operate.drain.plan import DrainPlan
from nomad_stateful.operate.drain.work import Drain, Options
from nomad_stateful.operate.errors import OperateError
from nomad_stateful.operate.frame import Checks, Frame, add_change_options, duration_s, framed, interruptible
from nomad_stateful.operate.progress import say
from nomad_stateful.waiting import Stopwatch

_UNDO_TIMEOUT_S = 180.0


class RefusedError(OperateError):
    """The plan would leave something down, or cannot be done; nothing was changed."""

    exit_status = 4


def drain(frame: Frame, known: Namespace) -> None:
    """Plans, asks and drains, or takes a drain back. Raises OperateError and ProviderError."""
    with frame.cluster() as nomad:
        node = nodes.find(nomad, known.node)
        if known.undo:
            _undo(frame, nomad, node)
            return
        ebs = EbsVolumes(stack.aws_place()) if node.instance_id else None
        _drain(frame, nomad, node, ebs, known)


def _drain(frame: Frame, nomad: NomadApi, node: Client, ebs: EbsVolumes | None, known: Namespace) -> None:
    plan = _plan(nomad, node, ebs)
    options = Options(
        known.deadline, keep_system=known.ignore_system, stop_batch=known.stop_batch, leave_down=known.leave_down
    )
    say(plans.text(plan, keep_system=options.keep_system))
    if frame.dry_run:
        frame.tell(plans.as_object(plan))

    def has_to_stay(one: Allocation) -> str:
        return group.others_away(nomad, one.namespace, one.job_id)

    refuse(plan, leave_down=known.leave_down, has_to_stay=has_to_stay)
    if frame.dry_run:
        return
    is_done = plan.is_done(keep_system=options.keep_system)
    if not is_done:
        frame.agree(f"drain {node.name}?")
        # The answer may have taken minutes.
        plan = _plan(nomad, clients.get(nomad, node.id), ebs)
        refuse(plan, leave_down=known.leave_down, has_to_stay=has_to_stay)
    work, took = Drain(nomad, ebs, plan, options, say, has_to_stay=has_to_stay), Stopwatch()
    if is_done:
        say(f"{node.name} is drained already: nothing to do")
    else:
        with interruptible(lambda: f"{node.name} takes no new allocations. Run the same command to resume"):
            work.run()
    frame.tell(_result(work, took.seconds), _table(work, took.seconds))
    say(f"to have it take allocations again: nomad-stateful drain {node.name} --undo")


def _plan(nomad: NomadApi, node: Client, ebs: EbsVolumes | None) -> DrainPlan:
    return plans.make(nomad, node, ebs.attached_to(node.instance_id) if ebs else [])


def refuse(plan: DrainPlan, *, leave_down: bool, has_to_stay: Callable[[Allocation], str] = lambda _: "") -> None:
    """Raises RefusedError where the plan cannot be done, or leaves a job down that nobody asked for.

    A member of a replication group has to stay while another one is missing, also with `leave_down`.
    """
    node = plan.node
    if node.status != "ready":
        raise RefusedError(
            f"{node} is {node.status}: it cannot unmount anything. `nomad-stateful status` shows what it holds, "
            "`nomad-stateful recover` what to do"
        )
    for one in plan.consumers:
        if why := has_to_stay(one.allocation):
            raise RefusedError(
                f"NODE is {node.name}: {one.allocation} is a member of a replication group, of which two members have "
                f"to run, and {why}. Nothing was changed. Wait until it is ONLINE; `nomad-stateful doctor` says more"
            )
    if plan.down and not leave_down:
        names = "; ".join(f"{one.allocation.job_id}: {one.stays_down}" for one in plan.down)
        raise RefusedError(
            f"NODE is {node.name}: a job on it would stay down ({names}). Start a client that can take it, or add "
            "--leave-down: it starts again when such a client comes or this one is eligible again"
        )


def _undo(frame: Frame, nomad: NomadApi, node: Client) -> None:
    wanted = plugins_elsewhere(nomad, node)
    if node.eligible and not node.draining:
        say(f"{node} is eligible already")
    else:
        say(f"{node} becomes eligible, and Nomad places what waits for it")
    if frame.dry_run:
        return
    if node.draining or not node.eligible:
        frame.agree(f"make {node.name} eligible?")
    undo(nomad, node, wanted, _UNDO_TIMEOUT_S, say)


def undo(api: NomadApi, node: Client, plugin_ids: Sequence[str], timeout_s: float, say: Callable[[str], None]) -> None:
    """Makes a client eligible, and ends a drain of it; waits until its node plugins are healthy again.

    `plugin_ids` are those that it is to have. Raises TimedOutError, NomadError.
    """
    if node.draining or not node.eligible:
        clients.undrain(api, node.id)
    say(f"{node.name} takes new allocations")

    def healthy() -> bool:
        return all(map(clients.get(api, node.id).has_healthy_plugin, plugin_ids))

    if plugin_ids:
        names = ", ".join(plugin_ids)
        remedy = f"See `nomad plugin status -verbose {plugin_ids[0]}`."
        wait_for(f"node plugin {names} is healthy on {node.name}", healthy, timeout_s, remedy)
        say(f"node plugin {names} is healthy on {node.name}")


def plugins_elsewhere(api: NomadApi, node: Client) -> list[str]:
    """Returns the ids of the CSI plugins that every other eligible client has. Raises NomadError."""
    others = [stub for stub in clients.listed(api) if stub.id != node.id and stub.takes_work]
    found = [set(one.node_plugins) for one in clients.read(api, others)]
    return sorted(set.intersection(*found) if found else node.node_plugins)


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


_NO_TURN = "changes nothing that Pulumi manages"

COMMAND = framed(
    "drain",
    "take a client out of service: consumers first, plugins once their volumes are detached",
    drain,
    _arguments,
    checks=Checks(turn=_NO_TURN, pulumi=_NO_TURN),
)
