"""One pair of commands at once: who was refused and how, and what the writer lost."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import Popen
from typing import Final

from tools.faults.checks import broken
from tools.faults.driver_versions import install
from tools.faults.lane import Lane
from tools.faults.zone_change.run import CLIENTS, ZONES, zone_of

_TIMEOUT_S: Final = 900.0
_UP: Final = ("pulumi", "up", "--yes", "--skip-preview", "--refresh", "--non-interactive")
_SHOWN: Final = 120
_MOVE_S: Final = 18.0
"""What a move takes, about: the second of two commands begins within it."""
_UPGRADE_S: Final = 55.0
_OF_NOW: Final = re.compile(r" \(pid \d+\)| since \S+Z")


@dataclass
class Outcome:
    """What came of one pair."""

    pair: str
    later_s: float
    """How much later the second began."""
    at_once: bool = False
    """Whether the first still ran then."""
    first: str = ""
    """How the first ended: done, or why it was refused."""
    second: str = ""
    seconds: float = 0.0
    acknowledged: int = 0
    """In this pair."""
    lost: int = 0
    """Of all that were acknowledged so far."""
    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Command:
    """A command that changes the stack."""

    words: tuple[str, ...]
    again: bool = True
    """Whether it is run again where it was refused, as its message says."""


def moves(lane: Lane, dice: random.Random, number: int) -> Outcome:
    """A move beside a move of the same volume to the same zone."""
    del number
    words = _operate(lane, "move", "mysql", "--zone", _elsewhere(lane), "--yes")
    return _both(lane, "move, move", (Command(words), Command(words)), dice.uniform(0, _MOVE_S))


def up_and_move(lane: Lane, dice: random.Random, number: int) -> Outcome:
    """`pulumi up --refresh`, which starts stopped jobs, beside a move."""
    del number
    words = _operate(lane, "move", "mysql", "--zone", _elsewhere(lane), "--yes")
    return _both(lane, "move, up", (Command(words), Command(_UP, again=False)), dice.uniform(0, _MOVE_S))


def up_and_upgrade(lane: Lane, dice: random.Random, number: int) -> Outcome:
    """`pulumi up --refresh` beside another version of the driver."""
    version = f"v1.50.{number}"
    install(lane, version, [client for clients in CLIENTS.values() for client in clients])
    words = _operate(lane, "upgrade-driver", version, "--node-timeout", "120s", "--yes")
    return _both(lane, "upgrade-driver, up", (Command(words), Command(_UP, again=False)), dice.uniform(0, _UPGRADE_S))


PAIRS: Final[dict[str, Callable[[Lane, random.Random, int], Outcome]]] = {
    "moves": moves,
    "up-and-move": up_and_move,
    "up-and-upgrade": up_and_upgrade,
}


def _elsewhere(lane: Lane) -> str:
    return ZONES[ZONES.index(zone_of(lane)) - 1]


def _operate(lane: Lane, *words: str) -> tuple[str, ...]:
    return (lane.stack.python, "-m", "nomad_stateful.operate", *words)


def _both(lane: Lane, pair: str, commands: tuple[Command, Command], later_s: float) -> Outcome:
    outcome = Outcome(pair, later_s)
    lane.await_writes()
    before, began = len(lane.writer.acknowledged), time.monotonic()
    first = _start(lane, commands[0])
    with lane.waits(f"the second command begins {later_s:.0f} s later", later_s):
        _wait(first[0], later_s)
    outcome.at_once = first[0].poll() is None
    second = _start(lane, commands[1])
    with lane.waits("both commands end", _TIMEOUT_S):
        ended = [_ended(*one) for one in (first, second)]
    outcome.first, outcome.second = ended
    if all(one != "done" for one in ended):
        outcome.problems.append("neither command was done")
    for command, end in zip(commands, ended, strict=True):
        if end != "done" and command.again and (again := _ended(*_start(lane, command))) != "done":
            outcome.problems.append(f"{' '.join(command.words[2:])} again: {again}")
    outcome.seconds = time.monotonic() - began
    _judge(lane, outcome, before)
    return outcome


def _wait(process: Popen[bytes], seconds: float) -> None:
    """Waits so long, or until the process ends."""
    deadline = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)


def _start(lane: Lane, command: Command) -> tuple[Popen[bytes], Path]:
    process = lane.start(*command.words)
    return process, lane.newest_log


def _ended(process: Popen[bytes], log: Path) -> str:
    """How a command ended."""
    if process.wait(_TIMEOUT_S) == 0:
        return "done"
    said = log.read_text(encoding="utf-8", errors="replace")
    errors = re.findall(r"^error: (.+)$", said, re.MULTILINE) or said.strip().splitlines()[-1:]
    # Who it was, without when and by which process.
    said = _OF_NOW.sub("", errors[-1] if errors else "said nothing")
    return f"{process.returncode}: {said}"[:_SHOWN]


def _judge(lane: Lane, outcome: Outcome, before: int) -> None:
    lane.await_writes()
    outcome.acknowledged = len(lane.writer.acknowledged) - before
    outcome.lost = len(lane.writer.lost())
    if outcome.lost:
        outcome.problems.append(f"{outcome.lost} acknowledged rows are missing")
    outcome.problems += lane.writer.contradictions() + broken(lane)
