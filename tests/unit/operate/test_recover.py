"""What `nomad-stateful recover` does by itself, and what it leaves to the operator."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from nomad_stateful.ebs.volumes import Attachment, EbsVolumes, Volume
from nomad_stateful.nomad.clients import Client, gone
from nomad_stateful.nomad.volume_claims import Claim
from nomad_stateful.operate import frame, group, ownership, recover, stack, volumes
from nomad_stateful.operate.errors import OperateError
from nomad_stateful.operate.frame import Checks, Frame
from nomad_stateful.operate.recover import NotRecoveredError, Permission, Recovery, StepRunner
from nomad_stateful.operate.volumes import StackVolume
from nomad_stateful.recovery.plan import Step, recovery_plans
from nomad_stateful.recovery.volume_usage import VolumeUsage
from nomad_stateful.waiting import RetryPolicy
from tests.fake_nomad import FakeNomad
from tests.unit.aws import PLACE, asked, have_instance, have_volume

VOLUME, INSTANCE, NODE = "vol-0123456789abcdef0", "i-0a", "node-0a"
CLAIM = Claim("8f3c2a1b-0000", "default", "mysql-server", NODE, "client-1", "stop", "lost")
PLUGINS = {"ebs": {"NodeInfo": {"ID": INSTANCE}}}
CLIENT = Client(NODE, "client-1", "down", instance_id=INSTANCE, node_plugins=PLUGINS)
FREE = VolumeUsage("mysql", "default", "ebs", VOLUME, attached=Volume(VOLUME, "available"))
CUT_OFF = replace(
    FREE,
    claims=(CLAIM,),
    clients={NODE: CLIENT},
    attached=Volume(VOLUME, "in-use", [Attachment(INSTANCE, "/dev/xvdaa", "busy")]),
    instances={INSTANCE: "running"},
)
STOPPED = replace(CUT_OFF, instances={INSTANCE: "stopped"})
UNKNOWN_TO_NOMAD = replace(STOPPED, clients={NODE: replace(CLIENT, node_plugins={})})


def stack_volume(usage: VolumeUsage) -> StackVolume:
    return StackVolume("mysql", registered=True, usage=usage)


class World:
    """A volume that changes as steps are done: each action leads to the next of the given states."""

    def __init__(self, now: VolumeUsage, after: Mapping[str, VolumeUsage]) -> None:
        self.now = now
        self.done: list[str] = []
        self._after = after

    def run(self, step: Step, _holders: VolumeUsage, _again: Callable[[], StackVolume]) -> None:
        self.done.append(step.action)
        self.now = self._after[step.action]

    def recover(self, permission: Permission) -> bool:
        runner: Any = self
        return recover.free(Recovery(stack_volume(self.now)), permission, runner, lambda: stack_volume(self.now))


NOTHING, SAFE, FENCE = Permission(), Permission(safe=True), Permission(safe=True, fence=True)


def test_without_leave_it_only_tells(capsys: pytest.CaptureFixture[str]) -> None:
    world = World(STOPPED, {})
    assert not world.recover(NOTHING)
    assert world.done == []
    assert "safe: `nomad volume status -namespace default mysql`" in capsys.readouterr().out


def test_a_volume_in_order_is_said_to_be(capsys: pytest.CaptureFixture[str]) -> None:
    assert World(FREE, {}).recover(NOTHING)
    assert capsys.readouterr().out == "mysql: in order\n"


def test_yes_waits_for_nomad_once_the_instance_is_off() -> None:
    world = World(STOPPED, {"await": FREE})
    assert world.recover(SAFE)
    assert world.done == ["await"]


def test_yes_leaves_an_instance_that_may_write_alone(capsys: pytest.CaptureFixture[str]) -> None:
    world = World(CUT_OFF, {})
    assert not world.recover(SAFE)
    assert world.done == []
    printed = capsys.readouterr().out
    assert f"fence: `aws ec2 stop-instances --instance-ids {INSTANCE}`" in printed
    assert "its tasks may still write" in printed


def test_fence_stops_the_instance_and_goes_on_with_what_is_safe_then() -> None:
    world = World(CUT_OFF, {"stop-instance": STOPPED, "await": FREE})
    assert world.recover(FENCE)
    assert world.done == ["stop-instance", "await"]


def test_a_client_that_nomad_cannot_name_to_ec2_is_detached_and_forgotten() -> None:
    detached = replace(UNKNOWN_TO_NOMAD, attached=Volume(VOLUME, "available"))
    world = World(UNKNOWN_TO_NOMAD, {"ec2-detach": detached, "purge-client": FREE})
    assert world.recover(SAFE)
    assert world.done == ["ec2-detach", "purge-client"]


def test_after_a_purge_it_waits_until_nomad_has_collected_the_claim() -> None:
    detached = replace(UNKNOWN_TO_NOMAD, attached=Volume(VOLUME, "available"))
    forgotten = replace(detached, clients={NODE: gone(NODE)})
    world = World(UNKNOWN_TO_NOMAD, {"ec2-detach": detached, "purge-client": forgotten, "await": FREE})
    assert world.recover(SAFE)
    assert world.done == ["ec2-detach", "purge-client", "await"]


def test_a_step_that_changes_nothing_is_not_done_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recover, "SETTLE_S", 0.0)
    world = World(STOPPED, {"await": STOPPED})
    assert not world.recover(SAFE)
    assert world.done == ["await"]


def test_a_client_that_comes_back_while_another_is_waited_for_is_not_fenced() -> None:
    """Nomad lost two clients of one volume; the first one's claim is released after minutes."""
    second = replace(CLIENT, id="node-0b", name="client-2", instance_id="i-0b")
    claim = replace(CLAIM, alloc_id="1a2b3c4d-0000", node_id=second.id, node_name=second.name)
    both = replace(
        STOPPED,
        claims=(CLAIM, claim),
        clients={NODE: CLIENT, second.id: second},
        instances={INSTANCE: "stopped", "i-0b": "running"},
    )
    is_back = replace(
        FREE, claims=(replace(claim, status="running"),), clients={second.id: replace(second, status="ready")}
    )
    world = World(both, {"await": is_back})
    assert world.recover(FENCE)
    assert world.done == ["await"]


def test_no_step_ever_forces_a_volume_off(ec2: Any, nomad: FakeNomad) -> None:
    detachments = asked(ec2, "DetachVolume")
    for usage in (CUT_OFF, STOPPED, UNKNOWN_TO_NOMAD):
        for step in [step for plan in recovery_plans(usage, wanted_free=False) for step in plan.steps]:
            have_instance(ec2, INSTANCE, "stopped")
            have_volume(ec2, VOLUME, INSTANCE, "busy")
            nomad.put(f"node/{NODE}", {})
            detachments.clear()
            nomad.requests.clear()
            runner = StepRunner(nomad.client(RetryPolicy()), lambda: EbsVolumes(PLACE))
            runner.run(step, usage, lambda: stack_volume(FREE))
            assert not any(one.get("Force") for one in detachments)
            assert len(detachments) == (step.action == "ec2-detach")
            assert nomad.writes == ([f"PUT node/{NODE}/purge"] if step.action == "purge-client" else [])


def test_a_member_that_its_group_cannot_do_without_is_not_fenced(
    ec2: Any, nomad: FakeNomad, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Members go on where Nomad's servers are cut off, and calls all clients down."""
    stops = asked(ec2, "StopInstances")
    have_instance(ec2, INSTANCE, "running")
    away = {"mysql-server": "mysql-server-3 cannot be asked: no allocation of it runs"}
    monkeypatch.setattr(group, "others_away", lambda _nomad, namespace, job: away[job] * (namespace == "default"))
    runner = StepRunner(nomad.client(RetryPolicy()), lambda: EbsVolumes(PLACE))
    [step] = [one for plan in recovery_plans(CUT_OFF, wanted_free=False) for one in plan.steps]
    with pytest.raises(OperateError, match=r"i-0a is not stopped: job mysql-server .* not without: mysql-server-3"):
        runner.run(step, CUT_OFF, lambda: stack_volume(FREE))
    assert not stops


def test_nor_is_an_instance_that_also_runs_a_member(nomad: FakeNomad, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does that end the command: what is safe of other volumes is still done."""
    away = {"db-2": "db-3 is RECOVERING"}
    monkeypatch.setattr(group, "others_away", lambda _nomad, _namespace, job: away.get(job, ""))
    there = [{"Namespace": "default", "JobID": job, "ClientStatus": "running"} for job in ("web", "db-2")]
    nomad.put(f"node/{NODE}/allocations", there)
    runner = StepRunner(nomad.client(RetryPolicy()), lambda: pytest.fail("EC2 is asked"))
    told: list[str] = []
    one = Recovery(stack_volume(CUT_OFF))
    assert not recover.free(one, FENCE, runner, lambda: stack_volume(CUT_OFF), told.append)
    assert one.ran == []
    assert "i-0a is not stopped: job db-2 is in a replication group" in told[-2]


def test_what_is_the_operators_to_decide_is_never_done(nomad: FakeNomad) -> None:
    step = Step("by-hand", "", "nomad job stop mysql-server", "why")
    with pytest.raises(OperateError, match="for the operator to decide"):
        StepRunner(nomad.api, lambda: pytest.fail("EC2 is asked")).run(step, FREE, lambda: stack_volume(FREE))
    assert nomad.requests == []


def run(nomad: FakeNomad, usage: VolumeUsage, monkeypatch: pytest.MonkeyPatch, **given: Any) -> None:
    """The command, on a stack of one volume; a step that is run is an error."""

    def refused(*_: Any) -> None:
        raise AssertionError("a step was run")

    monkeypatch.setattr(frame, "connect", lambda **_: nomad.client(RetryPolicy()))
    monkeypatch.setattr(recover, "stack_volumes", lambda _nomad, _name: [stack_volume(usage)])
    monkeypatch.setattr(stack, "outputs", dict)
    monkeypatch.setattr(StepRunner, "run", refused)
    recover.recover(Frame("recover", yes=True, checks=recover.COMMAND.checks or Checks(), **given), "", FENCE)


def test_each_volume_is_looked_at_when_its_turn_comes(nomad: FakeNomad, monkeypatch: pytest.MonkeyPatch) -> None:
    """The steps of the first one take minutes: the client of the second one is back by then."""
    now = {"a": STOPPED, "b": CUT_OFF}

    def run_step(_self: StepRunner, step: Step, *_: Any) -> None:
        assert step.action == "await", f"{step.command} was run"
        now.update(a=FREE, b=FREE)

    monkeypatch.setattr(frame, "connect", lambda **_: nomad.client(RetryPolicy()))
    monkeypatch.setattr(stack, "outputs", lambda: {"volumes": {name: {"nomadId": name, "id": name} for name in now}})
    monkeypatch.setattr(ownership, "namespaces", lambda *_: {})
    monkeypatch.setattr(volumes, "inspect_volume", lambda _nomad, _namespace, volume_id, *_: now[volume_id])
    monkeypatch.setattr(StepRunner, "run", run_step)
    recover.recover(Frame("recover", yes=True, checks=recover.COMMAND.checks or Checks()), "", FENCE)


def test_a_dry_run_only_tells_whatever_is_permitted(
    nomad: FakeNomad, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(NotRecoveredError, match=r"^mysql: see above\. Nothing was done"):
        run(nomad, CUT_OFF, monkeypatch, dry_run=True)
    assert f"fence: `aws ec2 stop-instances --instance-ids {INSTANCE}`" in capsys.readouterr().out


def test_the_result_for_scripts_has_each_problem_with_its_steps(
    nomad: FakeNomad, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run(nomad, FREE, monkeypatch, as_json=True)
    printed = capsys.readouterr()
    assert json.loads(printed.out)["volumes"] == [{"name": "mysql", "ok": True, "problems": [], "ran": []}]
    assert printed.err == "mysql: in order\n"
    with pytest.raises(NotRecoveredError):
        run(nomad, CUT_OFF, monkeypatch, as_json=True, dry_run=True)
    found = json.loads(capsys.readouterr().out)
    assert (found["ok"], found["dryRun"]) == (False, True)
    [volume] = found["volumes"]
    commands = [step["command"] for problem in volume["problems"] for step in problem["steps"]]
    assert f"aws ec2 stop-instances --instance-ids {INSTANCE}" in commands
