"""The plan: which fault in which run. The same seed, number of runs and faults give the same plan."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from tools.faults.model import Fault, State


@dataclass(frozen=True)
class Step:
    """One run of the plan; its number counts from 1."""

    number: int
    fault: Fault
    seed: int

    def random(self) -> random.Random:
        """What the run draws from: the same in every repetition, alone or among the others."""
        return random.Random(f"{self.seed}/{self.number}/{self.fault.name}")


def chosen(faults: Sequence[Fault], words: Sequence[str]) -> list[Fault]:
    """The faults whose family is one of the words, or whose name holds one; all where there are no words.

    Raises ValueError when a word chooses nothing.
    """
    for word in words:
        if not any(_fits(fault, word) for fault in faults):
            raise ValueError(f"no fault has {word!r} in its name, and no family is called so")
    return [fault for fault in faults if not words or any(_fits(fault, word) for word in words)]


def _fits(fault: Fault, word: str) -> bool:
    return word.lower() in fault.name.lower() or word == fault.family


def plan(faults: Sequence[Fault], runs: int, seed: int) -> list[Step]:
    """Every fault once when there are enough runs, further ones by weight; with fewer, every family and the quick ones.

    What empties a stack stands right before what starts from an empty one, so that nothing is brought up for nothing.
    """
    draw = random.Random(seed)
    drawn = _draw(sorted(faults, key=lambda fault: fault.name), runs, draw)
    draw.shuffle(drawn)
    blocks = _blocks(drawn)
    draw.shuffle(blocks)
    ordered = [fault for block in blocks for fault in block]
    return [Step(number, fault, seed) for number, fault in enumerate(ordered, start=1)]


def deal(steps: Sequence[Step], lanes: int) -> list[list[Step]]:
    """The steps of each lane, in their order: pairs stay together, the longest lane is as short as can be."""
    dealt: list[list[Step]] = [[] for _ in range(lanes)]
    block: list[Step] = []
    for step, following in zip(steps, [*steps[1:], None], strict=True):
        block.append(step)
        if following is None or not _joined(step.fault, following.fault):
            min(dealt, key=lambda lane: sum(one.fault.seconds for one in lane)).extend(block)
            block = []
    return dealt


def _draw(faults: Sequence[Fault], runs: int, draw: random.Random) -> list[Fault]:
    if runs >= len(faults):
        further = draw.choices(faults, [fault.weight for fault in faults], k=runs - len(faults)) if faults else []
        return [*faults, *further]
    families = sorted({fault.family for fault in faults})
    draw.shuffle(families)
    firsts = [_quick([fault for fault in faults if fault.family == family], 1, draw) for family in families[:runs]]
    picked = [fault for first in firsts for fault in first]
    return picked + _quick(faults, runs - len(picked), draw)


def _quick(faults: Sequence[Fault], number: int, draw: random.Random) -> list[Fault]:
    """So many faults: the heavier, and above all the quicker, the likelier."""
    return draw.choices(faults, [fault.weight / fault.seconds**2 for fault in faults], k=number)


def _blocks(faults: Sequence[Fault]) -> list[list[Fault]]:
    """What belongs one after the other: something that empties, what works on empty, something that deploys."""

    def kind(needs: State, leaves: State) -> list[Fault]:
        return [fault for fault in faults if (fault.needs, fault.leaves) == (needs, leaves)]

    blocks = [[fault] for fault in kind("deployed", "deployed")]
    emptying, on_empty, deploying = kind("deployed", "empty"), kind("empty", "empty"), kind("empty", "deployed")
    while emptying or on_empty or deploying:
        ahead = max(len(emptying), len(deploying), 1)
        share = -(-len(on_empty) // ahead)
        middle = [on_empty.pop() for _ in range(share)]
        blocks.append([*_take(emptying), *middle, *_take(deploying)])
    return blocks


def _take(faults: list[Fault]) -> list[Fault]:
    return [faults.pop()] if faults else []


def _joined(fault: Fault, following: Fault) -> bool:
    return fault.leaves == "empty" and following.needs == "empty"
