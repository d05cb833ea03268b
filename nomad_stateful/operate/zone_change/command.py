"""The commands `move` and `failover`: a volume's plan, question, progress and result; the watch for lost clients."""

import sys
from argparse import ArgumentParser, Namespace
from contextlib import closing
from typing import Any

from nomad_stateful.ebs.volumes import EbsVolumes
from nomad_stateful.operate import ownership, stack
from nomad_stateful.operate.cluster import connect
from nomad_stateful.operate.engine import Engine
from nomad_stateful.operate.errors import OperateError
from nomad_stateful.operate.frame import Checks, Frame, add_change_options, at_least_0, framed, interruptible
from nomad_stateful.operate.zone_change.change import Plan, Wanted, ZoneChange
from nomad_stateful.recovery.watcher import Watcher

_DONE = {
    "begin": "",
    "prepare": "begun before: moveTo is set",
    "stop": "begun before: the volume is unprotected",
    "switch": "begun before: the settings have the new zone",
}


CHECKS = Checks(
    pulumi="each step checks right before it stops anything; once all is stopped it waits for the lock",
    cluster="each step checks, by the volume that the state has then",
    clock="",
)


def change(frame: Frame, wanted: Wanted) -> None:
    """Says the plan, asks, and does it. Raises OperateError."""
    with frame.cluster() as nomad:
        engine = Engine(stack.chosen())
        way = ZoneChange(engine, nomad, stack.aws_place(), wanted)
        plan = way.plan()
        said = sys.stderr if frame.as_json else sys.stdout
        print("\n".join(lines(plan, wanted)), file=said, flush=True)
        if frame.dry_run:
            frame.tell({"ok": True, "dryRun": True, "phase": plan.phase, **_loss(plan)})
            return
        if plan.phase != "done":
            frame.agree("Go on?")
        resume = interruptible(lambda: "nothing is lost. Run the same command to resume")
        with resume, frame.turn(nomad, wanted.volume, engine) as way.refuse_lost:
            result = way.run(plan)
        print("\n".join(ending(result, plan)), file=said, flush=True)
        frame.tell(result)


def lines(plan: Plan, wanted: Wanted) -> list[str]:
    """Returns the plan for people."""
    known, name = plan.known, wanted.volume
    if plan.phase == "done":
        return [f"volume {name} is in {wanted.zone}: {known.volume_id}"]
    jobs = ", ".join(plan.jobs) or "no job"
    begun = [f"  {_DONE[plan.phase]}; it resumes there"] if _DONE[plan.phase] else []
    head = f"volume {name} ({known.volume_id}) goes from {known.zone} to {wanted.zone}:"
    if known.zone == wanted.zone:
        return [
            f"volume {name} goes to {wanted.zone}:",
            *begun,
            f"  {jobs} starts there, and nothing else is left to do",
        ]
    made_from, told = "it", []
    second = f"a snapshot while it runs; then {jobs} is stopped, and the last snapshot is taken: nothing is lost"
    if wanted.lost:
        assert plan.loss is not None  # noqa: S101 - of a lost zone
        made_from = "the snapshot"
        second = f"{known.volume_id} is given up: nothing waits until it is detached; {jobs} is stopped"
        told = [f"  The update also applies these pending changes:\n{plan.also}"] if plan.also else []
        told.append(
            f"  LOST: what was written after snapshot {plan.loss.snapshot} was begun, at {plan.loss.taken}: the last "
            f"{plan.loss.minutes:.1f} minutes until Nomad lost {known.zone}, and what is written there since"
        )
    return [
        head,
        *begun,
        *told,
        "  1. `pulumi up` unprotects the volume and marks it retain-on-delete",
        f"  2. {second}",
        f"  3. `pulumi up` makes an EBS volume in {wanted.zone} from {made_from}, and starts {jobs} there",
        f"  4. {known.volume_id} stays in {known.zone}, in AWS and outside of the stack, until you delete it",
    ]


def ending(result: dict[str, Any], plan: Plan) -> list[str]:
    """Returns the result for people."""
    name, earlier = result["volume"], result["earlierVolumeId"]
    told = [
        f"volume {name} is in {result['zone']}: {result['volumeId']}, from snapshot {result['snapshotId'] or 'none'}"
    ]
    told += [f"  {one}" for one in result["consumers"]]
    if plan.phase == "done":
        return told
    told.append("  a preview is empty; commit the stack's settings, which have the new zone")
    if plan.loss is not None:
        told.append(
            f"  LOST: what was written since {plan.loss.taken}, {plan.loss.minutes:.1f} minutes, and in the lost zone "
            "after"
        )
    if earlier:
        told += [
            f"  {earlier} is kept, outside of the stack; to delete it: aws ec2 delete-volume --volume-id {earlier}",
            f"  the snapshot is kept; to delete it: aws ec2 delete-snapshot --snapshot-id {result['snapshotId']}",
        ]
    return told


def _loss(plan: Plan) -> dict[str, Any]:
    if plan.loss is None:
        return {"lostMinutes": 0}
    return {"lostMinutes": round(plan.loss.minutes, 1), "snapshotId": plan.loss.snapshot}


def _add_options(parser: ArgumentParser) -> None:
    """Adds what both commands take."""
    add_change_options(parser)
    parser.add_argument(
        "--timeout", type=at_least_0, default=3600, metavar="SECONDS", help="how long a snapshot may take (3600)"
    )


def _move_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("volume", help="the volume's name in the stack")
    parser.add_argument("--zone", required=True, help="the availability zone that it moves to")
    _add_options(parser)


MOVE = framed(
    "move",
    "move a volume and its consumers to another zone by a snapshot, without losing data",
    lambda frame, known: change(frame, Wanted(known.volume, known.zone, timeout_s=known.timeout)),
    _move_arguments,
    checks=CHECKS,
)


def watch(*, fence: bool) -> None:
    """Looks once a second, for ever. Raises OperateError and ProviderError only before its first look."""
    with closing(connect()) as nomad:
        known = stack.outputs().get("volumes") or {}
        found = ownership.required(nomad)
        volumes = frozenset((namespace, str(known[name]["nomadId"])) for name, namespace in found.items())
        Watcher(nomad, EbsVolumes(stack.aws_place()), fence, volumes).watch()


def _failover_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("volume", nargs="?", default="", help="with --zone: the volume whose zone is lost")
    parser.add_argument("--zone", default="", help="the zone that the volume and what uses it go to, from a snapshot")
    parser.add_argument("--snapshot", default="", metavar="ID", help="restore this one; by default the newest")
    parser.add_argument("--max-loss", type=at_least_0, metavar="MINUTES", help="refuse an older snapshot than that")
    _add_options(parser)
    parser.add_argument(
        "--fence", action="store_true", help="stop the instance of a lost client that runs and has the volume attached"
    )


def _of_a_volume(known: Namespace) -> list[str]:
    """Returns the options that were given and mean nothing to a watch."""
    given = {
        "--dry-run": known.dry_run,
        "--json": known.json,
        "--snapshot": known.snapshot,
        "--max-loss": known.max_loss is not None,
        "--yes": known.yes,
    }
    return [name for name, value in given.items() if value]


def _failover(frame: Frame, known: Namespace) -> None:
    if not known.volume and not known.zone:
        if given := _of_a_volume(known):
            raise OperateError(
                f"{', '.join(given)} is for `nomad-stateful failover VOLUME --zone ZONE`: without a volume this is "
                "a watch, which acts until it is ended. Name both, or leave it out. Nothing was changed"
            )
        watch(fence=known.fence)
        return
    if not known.volume or not known.zone or known.fence:
        raise OperateError(
            "`nomad-stateful failover VOLUME --zone ZONE` brings one volume into another zone; without both it is "
            "a watch, which alone takes --fence"
        )
    wanted = Wanted(
        known.volume,
        known.zone,
        lost=True,
        snapshot_id=known.snapshot,
        max_loss_min=known.max_loss,
        timeout_s=known.timeout,
    )
    change(frame, wanted)


FAILOVER = framed(
    "failover",
    "watch for lost clients, and start their jobs elsewhere as soon as EC2 says that they cannot write; with VOLUME "
    "and --zone: its zone is lost, go on in another one from its newest snapshot",
    _failover,
    _failover_arguments,
    checks=CHECKS,
)
