"""A schedule: steps one after the other, each of one action or of two at once."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from tools.faults.model import Fault
from tools.faults.schedules.actions import pairs

_LENGTHS: Final = (1, 2, 2, 3)
_TOGETHER: Final = 0.6
"""How many of the steps that may have two actions have them."""


@dataclass(frozen=True)
class Act:
    """An action, and the seed of what it draws: the same in whatever is left of the schedule."""

    name: str
    seed: int


@dataclass(frozen=True)
class Step:
    """One action, or two at once."""

    acts: tuple[Act, ...]
    later_s: float = 0.0
    """How much later the second one begins."""

    def __str__(self) -> str:
        return " + ".join(act.name for act in self.acts)


@dataclass(frozen=True)
class Schedule:
    """Steps, one after the other."""

    steps: tuple[Step, ...]

    def __str__(self) -> str:
        return "; ".join(map(str, self.steps))

    def document(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Schedule:
        """What `document` gave."""
        return cls(
            tuple(
                Step(tuple(Act(act["name"], act["seed"]) for act in step["acts"]), step["later_s"])
                for step in document["steps"]
            )
        )

    @classmethod
    def read(cls, path: Path) -> Schedule:
        """The schedule in a file."""
        return cls.of(json.loads(path.read_text(encoding="utf-8")))

    def until(self, number: int) -> Schedule:
        """The first steps."""
        return Schedule(self.steps[:number])

    def smaller(self) -> Iterator[Schedule]:
        """Schedules with less in them: the last step alone, then without one step, then without one of two actions."""
        if len(self.steps) > 1:
            yield Schedule(self.steps[-1:])
            for at in range(len(self.steps)):
                yield Schedule((*self.steps[:at], *self.steps[at + 1 :]))
        for at, step in enumerate(self.steps):
            for act in step.acts if len(step.acts) > 1 else ():
                yield Schedule((*self.steps[:at], Step((act,)), *self.steps[at + 1 :]))


def drawn(actions: Mapping[str, Fault], seed: int, number: int) -> Schedule:
    """Schedule `number` of a seed: the same however many there are."""
    draw = random.Random(f"{seed}/{number}")
    return Schedule(tuple(_step(actions, draw) for _ in range(draw.choice(_LENGTHS))))


def _step(actions: Mapping[str, Fault], draw: random.Random) -> Step:
    first = _one(list(actions.values()), draw)
    others = [other for other in actions.values() if pairs(first, other)]
    if not others or draw.random() >= _TOGETHER:
        return Step((_act(first, draw),))
    second = _one(others, draw)
    return Step((_act(first, draw), _act(second, draw)), round(draw.uniform(0, first.seconds / 2), 1))


def _one(actions: list[Fault], draw: random.Random) -> Fault:
    """One of a family, each family as often as the others."""
    family = draw.choice(sorted({action.family for action in actions}))
    of_family = sorted((one for one in actions if one.family == family), key=lambda action: action.name)
    return draw.choices(of_family, [action.weight for action in of_family])[0]


def _act(action: Fault, draw: random.Random) -> Act:
    return Act(action.name, draw.randrange(10**6))


def shrunk(schedule: Schedule, fails: Callable[[Schedule], bool], attempts: int) -> Schedule:
    """The shortest schedule found in so many attempts that still fails, by leaving out what it fails without."""
    tried = {schedule}
    while True:
        for smaller in schedule.smaller():
            if smaller in tried:
                continue
            if not attempts:
                return schedule
            attempts -= 1
            tried.add(smaller)
            if fails(smaller):
                schedule = smaller
                break
        else:
            return schedule
