"""What `operate recover` does by itself, and what it leaves to the operator; and what `operate status` shows."""

import json
import time
from argparse import ArgumentError, ArgumentParser
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from nomad_stateful.ebs.attachment import Attachment, EbsState
from nomad_stateful.nomad.periodic_runs import FailingRun
from nomad_stateful.nomad.volume_claims import Claim
from nomad_stateful.recovery.plan import Step, recovery_plans
from nomad_stateful.recovery.volume_usage import GONE, Client, VolumeUsage
from operate import dumps, recover, status
from operate.errors import OperateError
from operate.recover import Permission, StepRunner
from operate.volumes import StackVolume

VOLUME, INSTANCE, NODE = "vol-0123456789abcdef0", "i-0a", "node-0a"
CLAIM = Claim("8f3c2a1b-0000", "default", "mysql-server", NODE, "client-1", "stop", "lost")
CLIENT = Client(NODE, "client-1", "down", INSTANCE, has_node_plugin=True)
FREE = VolumeUsage("mysql", "default", "ebs", VOLUME, attached=EbsState("available"))
CUT_OFF = replace(
    FREE,
    claims=(CLAIM,),
    clients={NODE: CLIENT},
    attached=EbsState("in-use", [Attachment(INSTANCE, "/dev/xvdaa", "busy")]),
    instances={INSTANCE: "running"},
)
STOPPED = replace(CUT_OFF, instances={INSTANCE: "stopped"})
UNKNOWN_TO_NOMAD = replace(STOPPED, clients={NODE: replace(CLIENT, has_node_plugin=False)})


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
        return recover.free(stack_volume(self.now), permission, runner, lambda: stack_volume(self.now))


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
    detached = replace(UNKNOWN_TO_NOMAD, attached=EbsState("available"))
    world = World(UNKNOWN_TO_NOMAD, {"ec2-detach": detached, "purge-client": FREE})
    assert world.recover(SAFE)
    assert world.done == ["ec2-detach", "purge-client"]


def test_after_a_purge_it_waits_until_nomad_has_collected_the_claim() -> None:
    detached = replace(UNKNOWN_TO_NOMAD, attached=EbsState("available"))
    forgotten = replace(detached, clients={NODE: Client(NODE, "", GONE, "", has_node_plugin=False)})
    world = World(UNKNOWN_TO_NOMAD, {"ec2-detach": detached, "purge-client": forgotten, "await": FREE})
    assert world.recover(SAFE)
    assert world.done == ["ec2-detach", "purge-client", "await"]


def test_a_step_that_changes_nothing_is_not_done_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recover, "SETTLE_S", 0.0)
    world = World(STOPPED, {"await": STOPPED})
    assert not world.recover(SAFE)
    assert world.done == ["await"]


class FakeEc2:
    """Remembers what it was asked to do."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def __getattr__(self, call: str) -> Callable[..., Any]:
        def answer(**arguments: Any) -> Any:
            self.asked.append((call, arguments))
            return {"Reservations": [{"Instances": [{"State": {"Name": "stopped"}}]}]}

        return answer


class FakeNomad:
    """Remembers what was put."""

    def __init__(self) -> None:
        self.paths: list[str] = []

    def put(self, path: str, _body: Any) -> None:
        self.paths.append(path)

    def close(self) -> None:
        """Nothing to close."""


def do(step: Step, usage: VolumeUsage) -> tuple[FakeEc2, FakeNomad]:
    ec2, nomad = FakeEc2(), FakeNomad()
    api: Any = nomad
    StepRunner(api, lambda: ec2).run(step, usage, lambda: stack_volume(FREE))
    return ec2, nomad


def test_no_step_ever_forces_a_volume_off() -> None:
    for usage in (CUT_OFF, STOPPED, UNKNOWN_TO_NOMAD):
        for step in [step for plan in recovery_plans(usage, wanted_free=False) for step in plan.steps]:
            ec2, nomad = do(step, usage)
            assert not any(arguments.get("Force") for _, arguments in ec2.asked)
            assert [call for call, _ in ec2.asked if call == "detach_volume"] == (
                ["detach_volume"] if step.action == "ec2-detach" else []
            )
            assert nomad.paths == ([f"node/{NODE}/purge"] if step.action == "purge-client" else [])


def test_what_is_the_operators_to_decide_is_never_done() -> None:
    with pytest.raises(OperateError, match="for the operator to decide"):
        do(Step("by-hand", "", "nomad job stop mysql-server", "why"), FREE)


def test_the_status_shows_each_volume_with_its_holders_and_what_is_wrong() -> None:
    header, row, _, problem = status.text([stack_volume(CUT_OFF)]).splitlines()
    assert header.split()[0] == "VOLUME"
    for part in (
        VOLUME,
        "mysql-server 8f3c2a1b (lost)",
        "client-1 (down)",
        f"{INSTANCE} (running)",
        f"{INSTANCE} (busy)",
    ):
        assert part in row
    assert "`python -m operate recover mysql` says what to do" in problem
    assert status.text([stack_volume(FREE)]).splitlines()[1].split() == [
        "mysql",
        VOLUME,
        "default",
        "-",
        "-",
        "-",
        "available",
    ]


def test_scripts_get_the_status_as_an_object() -> None:
    told = json.loads(json.dumps(status.as_object([stack_volume(CUT_OFF)])))
    (volume,) = told["volumes"]
    assert told["ok"] is False
    assert volume["claims"] == [
        {
            "allocation": CLAIM.alloc_id,
            "job": "mysql-server",
            "status": "lost",
            "client": "client-1",
            "clientStatus": "down",
            "instance": INSTANCE,
        }
    ]
    assert volume["attachments"][0]["instance"] == INSTANCE
    assert volume["problems"][0]["steps"] == [f"aws ec2 stop-instances --instance-ids {INSTANCE}"]
    assert status.as_object([stack_volume(FREE)])["ok"] is True


def test_the_status_is_shown_again_until_it_is_interrupted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    states = iter([CUT_OFF, FREE])
    nomad: Any = FakeNomad()
    monkeypatch.setattr(status, "connect", lambda: nomad)
    monkeypatch.setattr(dumps, "failing", lambda _nomad: [])
    monkeypatch.setattr(time, "sleep", lambda _s: None)

    def volumes(_nomad: Any) -> list[StackVolume]:
        try:
            return [stack_volume(next(states))]
        except StopIteration:
            raise KeyboardInterrupt from None

    monkeypatch.setattr(status, "stack_volumes", volumes)
    status.show(as_json=True, every_s=1)
    assert [json.loads(line)["ok"] for line in capsys.readouterr().out.splitlines()] == [False, True]


@pytest.mark.parametrize("given", ["0", "0.2", "-1", "often", "nan", "inf"])
def test_a_pause_of_less_than_a_second_is_refused(given: str) -> None:
    parser = ArgumentParser(exit_on_error=False)
    status.COMMAND.arguments(parser)
    assert parser.parse_args(["--watch"]).watch == 2
    assert parser.parse_args([]).watch == 0
    with pytest.raises(ArgumentError, match="must be a number of seconds, 1 or more"):
        parser.parse_args(["--watch", given])


def test_the_status_shows_dumps_that_fail() -> None:
    run = FailingRun(
        "mysql-backup/periodic-1", 3, "2026-01-01T03:00:00Z", "0123456789abcdef", "Exit Code: 2", again=True
    )
    *_, told = status.text([stack_volume(FREE)], [run]).splitlines()
    assert told == (
        "mysql-backup/periodic-1: the dump has failed 3 times since 2026-01-01T03:00:00Z (Exit Code: 2); Nomad "
        "retries it. `nomad alloc logs -stderr 01234567` says why"
    )
