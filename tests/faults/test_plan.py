"""The plan of a seed: always the same, every fault in it, nothing brought up for nothing."""

import itertools

import pytest

from tests.faults import short_plan
from tools.faults.cases import every_fault
from tools.faults.model import Fault, State
from tools.faults.plan import Step, chosen, deal, plan


def fault(name: str, needs: State = "deployed", leaves: State = "deployed", seconds: float = 10) -> Fault:
    return Fault(name, name.partition(" ")[0], lambda _lane, _draw: "", needs=needs, leaves=leaves, seconds=seconds)


FAULTS = (
    *[fault(f"process {number}") for number in range(4)],
    *[fault(f"engine destroy {number}", leaves="empty") for number in range(3)],
    *[fault(f"engine up {number}", needs="empty") for number in range(3)],
    fault("aws both", needs="empty", leaves="empty"),
    fault("instance slow", seconds=100),
)


def shape(steps: list[Step]) -> list[tuple[int, str, float]]:
    return [(step.number, step.fault.name, step.random().random()) for step in steps]


def test_a_seed_always_gives_the_same_plan_with_the_same_draws() -> None:
    assert shape(plan(FAULTS, 30, 7)) == shape(plan(tuple(reversed(FAULTS)), 30, 7))


def test_another_seed_gives_another_plan() -> None:
    assert shape(plan(FAULTS, 30, 7)) != shape(plan(FAULTS, 30, 8))


@pytest.mark.parametrize("seed", range(20))
def test_with_enough_runs_every_fault_has_its_turn(seed: int) -> None:
    steps = plan(FAULTS, 25, seed)
    assert [step.number for step in steps] == list(range(1, 26))
    assert {step.fault.name for step in steps} == {one.name for one in FAULTS}


@pytest.mark.parametrize("seed", range(20))
def test_with_few_runs_every_family_has_its_turn(seed: int) -> None:
    steps = plan(FAULTS, 5, seed)
    assert len(steps) == 5
    assert {step.fault.family for step in steps} == {one.family for one in FAULTS}


@pytest.mark.parametrize("seed", range(20))
def test_what_empties_stands_before_what_starts_from_empty(seed: int) -> None:
    """With as many of one as of the other, nothing has to be destroyed or brought up in between."""
    steps = plan(FAULTS, len(FAULTS), seed)
    pairs = list(itertools.pairwise(steps))
    assert [(one.number, two.number) for one, two in pairs if one.fault.leaves != two.fault.needs] == []


@pytest.mark.parametrize("lanes", [1, 2, 5])
def test_the_lanes_share_every_step_and_keep_what_belongs_together(lanes: int) -> None:
    steps = plan(FAULTS, 40, 3)
    dealt = deal(steps, lanes)
    assert sorted(step.number for lane in dealt for step in lane) == list(range(1, 41))
    together = {one.number for one, two in itertools.pairwise(steps) if one.fault.leaves == two.fault.needs == "empty"}
    for lane in dealt:
        numbers = [step.number for step in lane]
        assert numbers == sorted(numbers)
        assert all(number + 1 in numbers for number in numbers if number in together)


def test_the_short_plan_has_every_family_and_each_change_the_killed_pulumi_and_the_full_disk() -> None:
    first, *others = short_plan.parts()
    assert any(step.fault.name.startswith("kill -9 of pulumi up") for step in first)
    assert {step.fault.family for step in first} >= short_plan.TELLING
    assert all(others)
    steps = [step for part in (first, *others) for step in part]
    assert sorted(step.number for step in steps) == list(range(1, short_plan.RUNS + 1))
    assert {step.fault.family for step in steps} == {one.family for one in every_fault()}


def test_faults_are_chosen_by_family_or_by_a_part_of_their_name() -> None:
    assert [one.name for one in chosen(FAULTS, ["aws", "SLOW"])] == ["aws both", "instance slow"]
    assert chosen(FAULTS, []) == list(FAULTS)
    with pytest.raises(ValueError, match="no fault has 'nothing' in its name"):
        chosen(FAULTS, ["nothing"])


def test_every_fault_has_a_name_of_its_own_and_the_family_of_its_module() -> None:
    assert {one.family for one in every_fault()} >= {"engine", "process", "drain"}
    for one in every_fault():
        assert one.seconds > 0
        assert one.weight > 0
