"""What a schedule is made of: every fault and change that there is, and the operators' commands."""

from __future__ import annotations

import functools
import random
from collections.abc import Iterator
from subprocess import CompletedProcess
from typing import Final

from tools.faults.cases import every_fault, of_server
from tools.faults.cases.engine import MAX_CONNECTIONS, switch
from tools.faults.lane import Lane
from tools.faults.model import Fault
from tools.faults.schedules.zones import elsewhere, move
from tools.trial.running import ended_well
from tools.trial.servers import MYSQL, Server

MOVE: Final = "move to another zone"
COMMANDS: Final = "commands"
"""The family of what operators run: where one is refused beside something else, it is run again afterwards."""
_EDITING: Final = frozenset({"engine", "nomad"})
_TAKES_A_CLIENT: Final = frozenset({"instance", "drain"})
_VOLUME: Final = "VOLUME"
"""In a command's words: the database's."""


def every_action(server: Server = MYSQL) -> dict[str, Fault]:
    """All of them on a database, by name."""
    return {one.name: one for one in (*every_fault(server), *of_server(_COMMANDS, server)) if not one.cannot()}


def pairs(one: Fault, other: Fault) -> bool:
    """Whether two can be at once: both on a running stack, one alone changes settings, and a client is left."""
    both = (one, other)
    return (
        one.name != other.name
        and all(_may_have_company(action) for action in both)
        and sum(_edits(action) for action in both) < 2
        and sum(action.family in _TAKES_A_CLIENT for action in both) < 2
    )


def _may_have_company(action: Fault) -> bool:
    running = (action.needs, action.leaves) == ("deployed", "deployed")
    return running and action.family != "changes" and not action.alone


def _edits(action: Fault) -> bool:
    return action.family in _EDITING or action.run in {one.run for one in _EDITING_COMMANDS}


def _operate(lane: Lane, _draw: random.Random, *, words: tuple[str, ...]) -> str:
    return _said(ended_well(lane.operate(*_named(lane, words))))


def _look(lane: Lane, _draw: random.Random, *, words: tuple[str, ...]) -> str:
    """A command that only reads, and ends with 1 where something is wrong."""
    done = lane.operate(*_named(lane, words))
    if done.returncode:
        assert "Traceback" not in done.stderr, done.stderr
    return _said(done)


def _up(lane: Lane, _draw: random.Random) -> str:
    return _said(ended_well(lane.pulumi("up", "--yes", "--skip-preview", "--refresh")))


def _changed(lane: Lane, draw: random.Random) -> str:
    switch(lane, MAX_CONNECTIONS)
    return _up(lane, draw)


def _move(lane: Lane, _draw: random.Random) -> str:
    move(lane, elsewhere(lane))
    return "moved"


def _drill(lane: Lane, _draw: random.Random) -> str:
    ended_well(lane.operate("snapshot", lane.server.volume))
    return _said(ended_well(lane.operate("drill", lane.server.volume, "--yes")))


def _named(lane: Lane, words: tuple[str, ...]) -> Iterator[str]:
    return (lane.server.volume if word == _VOLUME else word for word in words)


def _said(done: CompletedProcess[str]) -> str:
    return "done" if done.returncode == 0 else f"ended with {done.returncode}"


def _command(name: str, *words: str, weight: int = 1, seconds: float = 20) -> Fault:
    return Fault(name, COMMANDS, functools.partial(_operate, words=words), weight, seconds=seconds)


def _reading(name: str, *words: str) -> Fault:
    return Fault(name, COMMANDS, functools.partial(_look, words=words), seconds=5)


_EDITING_COMMANDS: Final = (
    Fault("a {title} setting changed by pulumi up", COMMANDS, _changed, weight=3, seconds=20),
    Fault(MOVE, COMMANDS, _move, weight=3, seconds=40),
)
_COMMANDS: Final = (
    *_EDITING_COMMANDS,
    Fault("pulumi up --refresh", COMMANDS, _up, weight=3, seconds=10),
    Fault("drill", COMMANDS, _drill, weight=2, seconds=30),
    _command("verify", "verify", weight=2, seconds=60),
    _command("snapshot", "snapshot", _VOLUME, weight=2, seconds=10),
    _reading("recover", "recover", _VOLUME, "--yes"),
    _reading("doctor", "doctor"),
    _reading("explain", "explain", _VOLUME),
    _reading("status", "status"),
)
