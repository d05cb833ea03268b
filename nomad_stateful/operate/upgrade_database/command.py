"""The commands `upgrade-NAME`: plan, question, progress and result."""

from argparse import ArgumentParser, Namespace
from functools import partial
from typing import Any

from nomad_stateful.databases.catalogue import DATABASES
from nomad_stateful.databases.model import Database as Kind
from nomad_stateful.databases.operations import operations
from nomad_stateful.databases.upgrades import UpgradeRefusedError
from nomad_stateful.operate import stack
from nomad_stateful.operate.database import Database
from nomad_stateful.operate.engine import Engine
from nomad_stateful.operate.frame import Command, Frame, add_change_options, duration_s, framed, interruptible
from nomad_stateful.operate.upgrade_database.plan import Plan, Situation
from nomad_stateful.operate.upgrade_database.server import Server
from nomad_stateful.operate.upgrade_database.steps import StoppedError, Upgrade


def upgrade(kind: Kind, frame: Frame, known: Namespace) -> None:
    """Plans, asks, and upgrades. Raises OperateError and ProviderError."""
    outputs = stack.database_outputs()
    if outputs.kind.name != kind.name:
        raise UpgradeRefusedError(
            f"the stack's database is {outputs.kind.title}: `nomad-stateful upgrade-{outputs.kind.name}`"
        )
    after = operations(kind.name).upgrades.wanted(known.version)
    with frame.cluster(outputs.volume) as nomad:
        server = Server(kind, nomad, Database.of(outputs), outputs.job, outputs.namespace)
        now = Situation(Engine(stack.chosen()), server, outputs.volume)
        _upgrade(frame, now, now.plan(after, known.image), known)


def _upgrade(frame: Frame, now: Situation, plan: Plan, known: Namespace) -> None:
    needed = plan.phase != "done"
    preview = {"ok": True, "dryRun": needed, **as_json(plan)}
    if not frame.agree(
        f"upgrade {now.kind.title} to {plan.after}?", "\n".join(lines(plan, now)), preview, needed=needed
    ):
        return
    times = (known.timeout, known.probe_timeout, known.snapshot_timeout)
    way = Upgrade(now.engine, now.server, now.volume, plan, *times)

    def resume() -> str:
        kept = f" {way.snapshot_id} is kept." if way.snapshot_id else ""
        return f"run the same command to resume.{kept}"

    try:
        with interruptible(resume), frame.turn(now.server.nomad, str(plan.after), now.engine) as way.refuse_lost:
            result = way.run()
    except StoppedError as error:
        frame.tell({"ok": False, **as_json(plan), "snapshotId": error.snapshot_id, "wayBack": error.commands})
        raise
    frame.tell(result, "\n".join(ending(now.kind.title, result, plan)))


def as_json(plan: Plan) -> dict[str, Any]:
    """Returns the plan for scripts."""
    return {
        "phase": plan.phase,
        "from": str(plan.before),
        "to": str(plan.after),
        "image": plan.images.after,
        "changes": [{"op": one.op, "type": one.type, "name": one.name} for one in plan.changes],
    }


def lines(plan: Plan, now: Situation) -> list[str]:
    """Returns the plan for people."""
    job, title = now.server.job_id, now.kind.title
    if plan.phase == "done":
        return [f"{job} runs {title} {plan.after}, and settings and state agree"]
    waits = "Writes wait from 2 until then; reads until the server stops"
    if not now.server.database.holds_writes:
        waits = "Nobody is answered meanwhile"
    update = f"`pulumi up` with {plan.images.after}"
    if plan.phase == "settle":
        return [f"{job} runs {title} {plan.after}; the settings and the state get it too: {update}"]
    if plan.phase == "await":
        return [
            f"{job}: {title} {plan.before} -> {plan.after} was begun, with {plan.snapshot_id} from before",
            f"  {update}, until the server answers as {plan.after}",
        ]
    return [
        f"{job}: {title} {plan.before} -> {plan.after} ({plan.images.before} -> {plan.images.after})",
        "  1. the new image is tried beside the server: pulled, its version, and the options that are set",
        *_snapshots(now),
        f"  3. {update}: {', '.join(sorted(one.name for one in plan.changes))}",
        "     the server stops (killTimeout at most), and the new one upgrades its own tables before it answers:",
        f"     seconds, longer with many tables. {waits}",
        "  4. it answers, every table is there, and a preview is empty",
        f"  if the new one never starts, {plan.before} is restored; if it starts and fails, it is left as it is,",
        "  and the way back is the snapshot",
    ]


def _snapshots(now: Situation) -> list[str]:
    if not now.server.database.holds_writes:
        return [f"  2. a snapshot of volume {now.volume} is taken, with all that was acknowledged until it was begun"]
    return [
        f"  2. a first snapshot of volume {now.volume} is taken; then writes wait until another is complete, which has",
        "     all that was acknowledged, and copies what changed since the first",
    ]


def ending(title: str, result: dict[str, Any], plan: Plan) -> list[str]:
    """Returns the result for people."""
    told = [f"{result['job']} runs {title} {result['to']} after {result['seconds']} s; a preview is empty"]
    if result["writesWaitedS"] is not None:
        told.append(f"  writes waited {result['writesWaitedS']} s; the server was away for {result['awayS']} s")
    if result["dictionary"]:
        told.append(f"  it says: {result['dictionary']}")
    told.append(f"  {result['tables']} tables are there; commit the stack's settings, which have {plan.images.after}")
    if result["snapshotId"]:
        told.append(
            f"  {result['snapshotId']} is kept, from before; to delete it: aws ec2 delete-snapshot --snapshot-id "
            f"{result['snapshotId']}"
        )
    return told


def _arguments(kind: Kind, parser: ArgumentParser) -> None:
    parser.add_argument("version", metavar="VERSION", help=f"a whole version of {kind.title}")
    parser.add_argument(
        "--image", default="", help="its image; by default the present one's name with VERSION as its tag"
    )
    for name, seconds, text in (
        ("--timeout", 3600.0, f"how long the new server may work on its start, after {kind.name}.timeoutS (1h)"),
        ("--probe-timeout", 600.0, "how long the image may take (10m)"),
        ("--snapshot-timeout", 600.0, "how long writes may wait for the last snapshot (10m)"),
    ):
        parser.add_argument(name, type=duration_s, default=seconds, metavar="TIME", help=text)
    add_change_options(parser)


def _command(kind: Kind) -> Command:
    return framed(
        f"upgrade-{kind.name}",
        f"upgrade {kind.title}, after a snapshot of its volume",
        partial(upgrade, kind),
        partial(_arguments, kind),
    )


COMMANDS = tuple(_command(kind) for kind in DATABASES.values())
