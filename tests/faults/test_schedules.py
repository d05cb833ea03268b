"""Schedules: drawn by seed, written and read, shrunk to what still fails, and reported."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from sandbox.machine import requirements
from tests.unit.aws import REGION, account
from tools.faults import checks
from tools.faults.model import Fault, State
from tools.faults.schedules import __main__ as command
from tools.faults.schedules import play, report, zones
from tools.faults.schedules.actions import COMMANDS, MOVE, every_action, pairs
from tools.faults.schedules.model import Act, Schedule, Step, drawn, shrunk
from tools.faults.schedules.play import Play
from tools.faults.table import Result

ACTIONS = every_action()


def schedule(*steps: str) -> Schedule:
    """`a b` are two at once."""
    return Schedule(tuple(Step(tuple(Act(name, 1) for name in step.split())) for step in steps))


def test_a_seed_and_a_number_always_give_the_same_schedule() -> None:
    other_order = dict(reversed(ACTIONS.items()))
    for number in range(1, 30):
        assert drawn(ACTIONS, 7, number) == drawn(other_order, 7, number)
    assert [drawn(ACTIONS, 7, number) for number in range(9)] != [drawn(ACTIONS, 8, number) for number in range(9)]


def test_every_fault_change_and_command_is_drawn_alone_or_beside_another() -> None:
    steps = [step for number in range(3000) for step in drawn(ACTIONS, 1, number).steps]
    assert {act.name for step in steps for act in step.acts} == set(ACTIONS)
    together = [{ACTIONS[act.name].family for act in step.acts} for step in steps if len(step.acts) == 2]
    assert len(together) > len(steps) / 4
    assert {frozenset({"instance", COMMANDS}), frozenset({"process", COMMANDS}), frozenset({"drain", "process"})} <= {
        frozenset(one) for one in together
    }


def test_two_at_once_change_no_settings_twice_and_leave_a_client() -> None:
    def may(one: str, other: str) -> bool:
        return pairs(ACTIONS[one], ACTIONS[other])

    assert may("kill -9 of mysqld", MOVE)
    assert may("kill -9 of pulumi up of a changed registration", "verify")
    assert not may("kill -9 of pulumi up of a changed registration", MOVE)
    assert not may("settings changed", "snapshot")
    assert not may("instance stopped by force", "drain with the node plugin")
    assert not may("kill -9 of pulumi destroy", "verify")
    assert not may("verify", "verify")


def test_a_schedule_is_read_as_it_was_written() -> None:
    for number in range(20):
        made = drawn(ACTIONS, 3, number)
        assert Schedule.of(json.loads(json.dumps(made.document()))) == made


@pytest.mark.parametrize(
    ("needed", "left"),
    [
        ({"c"}, "c"),
        ({"a", "d"}, "a; d"),
        ({"a", "b"}, "a + b"),
        ({"b", "e"}, "b; e"),
    ],
)
def test_a_failing_schedule_is_shrunk_to_what_it_fails_with(needed: set[str], left: str) -> None:
    asked: list[Schedule] = []

    def fails(one: Schedule) -> bool:
        asked.append(one)
        return needed <= {act.name for step in one.steps for act in step.acts}

    assert str(shrunk(schedule("a b", "c", "d e"), fails, 100)) == left
    assert len(asked) == len(set(asked)) < 20


def test_shrinking_ends_with_the_attempts() -> None:
    asked: list[Schedule] = []

    def fails(one: Schedule) -> bool:
        asked.append(one)
        return False

    whole = schedule("a", "b", "c", "d")
    assert shrunk(whole, fails, 3) == whole
    assert len(asked) == 3


def fault(name: str, run: Callable[..., str], family: str = "process", leaves: State = "deployed") -> Fault:
    return Fault(name, family, run, leaves=leaves)


@pytest.fixture
def lane(monkeypatch: pytest.MonkeyPatch) -> Any:
    """What a lane is to a schedule: nothing is left of it, and its writer writes."""
    monkeypatch.setattr(play, "bring", lambda of, state: setattr(of, "state", state))
    monkeypatch.setattr(play, "settle", lambda of: of.done.append("settled"))
    monkeypatch.setattr(play, "bring_home", lambda _lane: None)
    monkeypatch.setattr(play, "Leftovers", lambda _lane: SimpleNamespace(delete=lambda: None))
    monkeypatch.setattr(checks, "leftovers", lambda _lane: [])
    nothing: Callable[[], None] = lambda: None  # noqa: E731
    writer = SimpleNamespace(begin=nothing, end=nothing, moved=nothing, contradictions=list, verdicts={})
    return SimpleNamespace(state="empty", done=[], await_writes=nothing, writer=writer)


def does(of: Any, _draw: Any) -> str:
    of.done.append("did")
    return "seen"


def test_a_step_ends_in_order_and_is_judged(lane: Any) -> None:
    made = Play(schedule("a", "b"), {"a": fault("a", does), "b": fault("b", does, leaves="empty")})
    assert made.run(lane, random.Random()) == "seen; seen"
    assert (made.reached, lane.state) == (2, "empty")
    lane.writer.contradictions = lambda: ["history-1.jsonl: wrong"]
    with pytest.raises(AssertionError, match=r"step 1, a: history-1\.jsonl: wrong"):
        made.run(lane, random.Random())
    assert made.reached == 1


def test_of_two_at_once_a_command_that_was_refused_is_run_again_when_all_is_repaired(lane: Any) -> None:
    def refused(of: Any, _draw: Any) -> str:
        of.done.append("asked")
        assert "settled" in of.done, "error: the stack is locked"
        return "done"

    def broken(_lane: Any, _draw: Any) -> str:
        raise AssertionError("somebody else killed it")

    made = Play(schedule("c k"), {"c": fault("c", refused, COMMANDS), "k": fault("k", broken)})
    told = made.run(lane, random.Random())
    assert told == "c: gave up (error: the stack is locked), again: done + k: gave up (somebody else killed it)"
    assert lane.done == ["asked", "settled", "asked"]


def test_alone_nothing_may_give_up(lane: Any) -> None:
    def broken(_lane: Any, _draw: Any) -> str:
        raise ZeroDivisionError("whatever it is")

    with pytest.raises(AssertionError, match="seen; step 2, b: whatever it is"):
        Play(schedule("a", "b"), {"a": fault("a", does), "b": fault("b", broken)}).run(lane, random.Random())


class Runs:
    """Stands in for the runner: a schedule fails where it has what breaks it."""

    def __init__(self, breaks: set[str]) -> None:
        self.breaks = breaks
        self.ran: list[str] = []

    def played(self, plays: dict[int, Play], append: Callable[[Play, Result], None]) -> list[Result]:
        results = []
        for number, made in plays.items():
            names = [act.name for step in made.schedule.steps for act in step.acts]
            self.ran.append(str(made.schedule))
            problems = ["history-1.jsonl: wrong: 1 operations"] if self.breaks <= set(names) else []
            made.reached, made.counts = len(made.schedule.steps), Counter(ok=10, unknown=1)
            results.append(Result(number, "", "schedules", problems=problems, seconds=1.5))
            append(made, results[-1])
        return results


def test_what_every_move_has_left_is_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of one that was ended by the repair, between two of the schedule's own."""
    with account() as ec2:
        monkeypatch.setattr(zones, "volume_ids", lambda _lane: {})
        left = zones.Leftovers(cast("Any", SimpleNamespace(stack=SimpleNamespace(ec2=ec2))))
        own = [ec2.create_volume(AvailabilityZone=f"{REGION}a", Size=1)["VolumeId"] for _ in range(3)]
        ec2.create_tags(Resources=own[:2], Tags=[{"Key": "nomad-stateful-left", "Value": "shop/dev/mysql"}])
        left.delete()
        assert [one["VolumeId"] for one in ec2.describe_volumes()["Volumes"]] == own[2:]


def start(monkeypatch: pytest.MonkeyPatch, folder: Path, runs: Runs, *words: str) -> int:
    monkeypatch.setattr(requirements, "lacking", lambda: None)
    monkeypatch.setattr(command.Session, "played", lambda _self, plays, append: runs.played(plays, append))
    return command.main(["--results", str(folder), *words])


def test_results_are_appended_and_a_failing_schedule_is_kept_as_its_shortest(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = drawn(ACTIONS, 1, 4)
    victim = whole.steps[-1].acts[-1].name
    runs = Runs({victim})
    assert start(monkeypatch, tmp_path, runs, "--seed", "1", "--run", "3", "--run", "4") == 1
    kept = tmp_path / "failed-1-4.json"
    again = Schedule.of(json.loads(kept.read_text()))
    assert [[act.name for act in step.acts] for step in again.steps] == [[victim]]
    assert again.steps[0].acts[0] == whole.steps[-1].acts[-1]
    assert f"make histories SCHEDULE={kept}" in capsys.readouterr().out
    assert start(monkeypatch, tmp_path, Runs({"nothing"}), "--seed", "2", "--runs", "2") == 0
    lines = report.read(tmp_path / "results.jsonl")
    assert [(one.seed, one.number, one.verdict) for one in lines] == [
        (1, 3, "right"),
        (1, 4, "wrong"),
        (2, 1, "right"),
        (2, 2, "right"),
    ]
    table = report.table(lines).splitlines()
    assert table[-1] == "| all | 4 | 3 | 1 | 0 | 0 | 0 | 40 | 0 | 4 | 0 |"


def test_a_schedule_is_run_from_its_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    runs, path = Runs({"nothing"}), tmp_path / "kept.json"
    path.write_text(json.dumps(drawn(ACTIONS, 1, 4).document()))
    assert start(monkeypatch, tmp_path, runs, "--schedule", str(path)) == 0
    assert runs.ran == [str(drawn(ACTIONS, 1, 4))]


@pytest.mark.parametrize(
    ("problems", "verdict"),
    [
        ([], "right"),
        (["preview is not empty"], "broken"),
        (["step 1, a: /x/history-2.jsonl: wrong: 3 operations ok"], "wrong"),
        (["/x/history-2.jsonl: undecided: 3 operations ok"], "undecided"),
    ],
)
def test_the_verdict_tells_the_judge_from_other_promises(problems: list[str], verdict: str) -> None:
    assert report.verdict_of(problems) == verdict
