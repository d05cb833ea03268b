"""Recovery of volumes that are not released: prints what is wrong and the exact steps, and runs those that are safe."""

from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from nomad_stateful.ebs.volumes import EbsVolumes
from nomad_stateful.nomad import clients
from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.group_record import GroupRecord
from nomad_stateful.nomad.running_job import ENDED
from nomad_stateful.operate import group, group_recovery, stack
from nomad_stateful.operate.cluster import wait_for
from nomad_stateful.operate.errors import OperateError
from nomad_stateful.operate.frame import Checks, Frame, acts_unless_dry, add_change_options, framed, interruptible
from nomad_stateful.operate.progress import CONTEXT, say
from nomad_stateful.operate.volumes import StackVolume, stack_volumes
from nomad_stateful.recovery.plan import SAFE, Action, RecoveryPlan, Step, recovery_plans
from nomad_stateful.recovery.volume_usage import VolumeUsage
from nomad_stateful.waiting import Pending, Progress

# The kernel of a fenced client first writes what it has in memory.
STOP_TIMEOUT_S = 600.0
# Nomad releases stale claims every 5 minutes by default, and its controller plugin waits for EC2 up to two.
COLLECTION_TIMEOUT_S = 480.0
SETTLE_S = 5.0
_SETTLE_POLL_S = 0.5


class KeptError(OperateError):
    """A replication group cannot do without what the step would stop; nothing was done."""


class NotRecoveredError(OperateError):
    """Something is still wrong; the steps are printed."""


@dataclass(frozen=True)
class Permission:
    """What may be done besides printing the steps."""

    safe: bool = False
    fence: bool = False

    @property
    def given(self) -> bool:
        """Whether anything may be done."""
        return self.safe or self.fence

    def allows(self, action: Action) -> bool:
        """Returns whether a step may be run. Nothing ever force-detaches."""
        return (self.safe and action in SAFE) or (self.fence and action == "stop-instance")


@dataclass
class Recovery:
    """One volume: what is wrong with it by the last look, and what was run."""

    volume: StackVolume
    plans: Sequence[RecoveryPlan] = ()
    ran: list[Step] = field(default_factory=list)

    def as_object(self) -> dict[str, Any]:
        """Returns it for scripts."""
        return {
            "name": self.volume.name,
            "ok": not self.plans,
            "problems": list(map(_problem, self.plans)),
            "ran": [one.command for one in self.ran],
        }


def _problem(plan: RecoveryPlan) -> dict[str, Any]:
    steps = [{"kind": _mark(one), "command": one.command, "why": one.why} for one in plan.steps]
    return {"problem": plan.problem, "steps": steps}


def recover(frame: Frame, name: str, permission: Permission) -> None:
    """Checks the stack's volumes, or one of them, and runs the permitted steps. Raises NotRecoveredError."""
    if frame.dry_run:
        permission = Permission()
    tell = say if frame.as_json else _print
    done: list[Recovery] = []
    resume = interruptible(
        lambda: "the steps that were running are done or continue. Run the same command to look again"
    )
    with frame.cluster() as nomad, frame.turn(nomad, name), resume if permission.given else nullcontext():
        runner = StepRunner(nomad, lambda: EbsVolumes(stack.aws_place()))
        for volume in stack_volumes(nomad, name):
            one = Recovery(volume)
            done.append(one)
            free(one, permission, runner, partial(_again, nomad, volume.name), tell)
        of_group = _group(nomad, name, tell)
    stuck = [*(one.volume.name for one in done if one.plans), *of_group]
    told = {"ok": not stuck, "dryRun": frame.dry_run, "volumes": [one.as_object() for one in done]}
    frame.tell(told | {"groups": [{"name": name, **_problem(plan)} for name, plan in of_group.items()]})
    if stuck:
        raise NotRecoveredError(f"{', '.join(stuck)}: see above. {_how_to_go_on(permission)}")


def _group(nomad: NomadApi, volume: str, tell: Callable[[str], None]) -> dict[str, RecoveryPlan]:
    """Tells what there is to do where nobody of the volume's replication group can write; by the name of its service.

    Nothing of it is run: each step gives something up, or is somewhere else.
    """
    server = stack.database()
    if server is None or volume not in {"", *(one.volume for one in server.members)}:
        return {}
    ids = {name: str(one.get("id") or "") for name, one in (stack.outputs().get("volumes") or {}).items()}
    record = GroupRecord(nomad, server.namespace, server.service)

    def serves() -> bool:
        return any(one.passes for one in group.routers(nomad, server))

    plan = group_recovery.recovery_plan(server, group.states(nomad, server), ids, record, serves)
    if plan is None:
        return {}
    tell(_text(f"group {server.service}", [plan]))
    return {server.service: plan}


_print = partial(print, flush=True)


def _again(nomad: NomadApi, name: str) -> StackVolume:
    return next(iter(stack_volumes(nomad, name)))


def _how_to_go_on(permission: Permission) -> str:
    if not permission.given:
        return "Nothing was done: --yes runs the steps marked safe, --fence stops an instance where that is the step"
    return "The remaining steps are for you to decide"


def free(
    one: Recovery,
    permission: Permission,
    runner: "StepRunner",
    again: Callable[[], StackVolume],
    tell: Callable[[str], None] = _print,
) -> bool:
    """Prints the plans and runs the permitted steps until none is left; returns whether nothing is wrong."""
    kept: list[Step] = []
    while True:
        one.plans = recovery_plans(one.volume.usage, wanted_free=False)
        tell(_text(one.volume.name, one.plans))
        # Of each plan the first that is left: what comes after depends on its result.
        steps = [next((step for step in plan.steps if step not in (*one.ran, *kept)), None) for plan in one.plans]
        step = next((step for step in steps if step is not None and permission.allows(step.action)), None)
        if step is None:
            return not one.plans
        tell(f"    running: {'waiting for Nomad' if step.action == 'await' else step.command}")
        try:
            runner.run(step, one.volume.usage, again)
        except KeptError as error:
            tell(f"    {error}")
            kept.append(step)
        else:
            one.ran.append(step)
        # It may have taken minutes: the next one is of another look, and a client that came back is left alone.
        one.volume = _settled(one.volume, again)


def _settled(before: StackVolume, again: Callable[[], StackVolume]) -> StackVolume:
    """Returns the volume once Nomad and EC2 show the change, or as it is after SETTLE_S."""
    now = before

    def look() -> bool | Pending:
        nonlocal now
        now = again()
        return now.usage != before.usage or Pending(f"waiting: Nomad and EC2 show the change of {before.name}")

    Progress(CONTEXT, SETTLE_S).wait(look, _SETTLE_POLL_S)
    return now


def _text(name: str, plans: Sequence[RecoveryPlan]) -> str:
    if not plans:
        return f"{name}: in order"
    lines = []
    for plan in plans:
        lines.append(f"{name}: {plan.problem}")
        lines += [f"    {_mark(step)} {step}" for step in plan.steps]
    return "\n".join(lines)


def _mark(step: Step) -> str:
    if step.action in SAFE:
        return "safe:"
    return "fence:" if step.action == "stop-instance" else "by hand:"


def _allocations(usage: VolumeUsage) -> set[str]:
    return {claim.alloc_id for claim in usage.claims}


class StepRunner:
    """Runs single steps through Nomad's and EC2's APIs."""

    def __init__(self, nomad: NomadApi, ebs: Callable[[], EbsVolumes]) -> None:
        self._nomad = nomad
        self._ebs = ebs

    def run(self, step: Step, usage: VolumeUsage, again: Callable[[], StackVolume]) -> None:
        """Runs a permitted step. Raises ProviderError and OperateError."""
        if step.action == "await":
            before = _allocations(usage)
            wait_for(
                f"Nomad releases {usage.volume_id}",
                lambda: bool(before - _allocations(again().usage)),
                COLLECTION_TIMEOUT_S,
                "See the log of its server. Registering any CSI volume makes Nomad release stale claims at once.",
            )
        elif step.action == "purge-client":
            clients.purge(self._nomad, step.target)
        elif step.action == "ec2-detach":
            self._ebs().detach(usage.external_id, step.target)
        elif step.action == "stop-instance":
            self._refuse_member(step, usage)
            self._stop(step.target)
        else:
            raise OperateError(f"`{step.command}` is for the operator to decide")

    def _refuse_member(self, step: Step, usage: VolumeUsage) -> None:
        """Raises KeptError where a replication group cannot do without a member on the instance."""
        client = usage.client_on(step.target)
        there = (self._nomad.find(f"node/{client.id}/allocations") or []) if client else []
        jobs = {(one["Namespace"], one["JobID"]) for one in there if one["ClientStatus"] not in ENDED}
        jobs |= {(claim.namespace or usage.namespace, claim.job_id) for claim in usage.claims if claim.job_id}
        for namespace, job in sorted(jobs):
            if away := group.others_away(self._nomad, namespace, job):
                raise KeptError(
                    f"{step.target} is not stopped: job {job} is in a replication group that may go on with it, and "
                    f"not without: {away}. Bring the other members back first, or run this where their clients can be "
                    f"reached. If it is to be off all the same: `{step.command}`"
                )

    def _stop(self, instance_id: str) -> None:
        ebs = self._ebs()
        ebs.stop_instances([instance_id])
        wait_for(
            f"{instance_id} is stopped",
            lambda: ebs.instance_states([instance_id])[instance_id] in {"stopped", "terminated", "not-found"},
            STOP_TIMEOUT_S,
            f"`aws ec2 stop-instances --force --instance-ids {instance_id}` does not wait for its shutdown",
        )


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("volume", nargs="?", default="", help="the volume's name in the stack; by default all")
    add_change_options(parser, "run the steps marked safe; never force-detaches")
    parser.add_argument(
        "--fence", action="store_true", help="stop an instance that may still write, if that is the step"
    )


_NO_TURN = "may be needed beside a stuck command, and changes nothing that Pulumi manages"

COMMAND = framed(
    "recover",
    "show what is wrong with the volumes, and the exact steps to fix it",
    lambda frame, known: recover(frame, known.volume, Permission(safe=known.yes, fence=known.fence)),
    _arguments,
    checks=Checks(
        turn=_NO_TURN,
        pulumi=_NO_TURN,
        cluster="each read of the volumes checks it, also for a half-destroyed stack",
    ),
    acts=lambda known: bool((known.yes or known.fence) and acts_unless_dry(known)),
)
