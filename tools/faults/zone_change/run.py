"""One change of zone with a writer: killed, run again, and judged."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from typing import Any, Final

from nomad_stateful.nomad import clients
from tools.faults.checks import broken
from tools.faults.lane import Lane
from tools.faults.pauses import Pauses
from tools.faults.zone_change.points import Point, strike
from tools.trial.instances import instance_of
from tools.trial.running import ended_well, eventually

ZONES: Final = ("us-west-2a", "us-west-2b")
CLIENTS: Final = {"us-west-2a": ("client-1", "client-2"), "us-west-2b": ("client-3", "client-4")}
_TIMEOUT_S: Final = 900.0


@dataclass
class Outcome:
    """What came of one change."""

    command: str
    killed: str
    at: str
    seconds: float = 0.0
    """Of the command that was run again."""
    away_s: float = 0.0
    """The longest time without an acknowledged row."""
    acknowledged: int = 0
    lost: int = 0
    said_min: float = 0.0
    """What the command said would be lost at most, in minutes."""
    lost_min: float = 0.0
    """Time from the first lost row to the loss of the zone, in minutes."""
    problems: list[str] = field(default_factory=list)


def zone_of(lane: Lane) -> str:
    """The zone that MySQL's volume is in, by the stack."""
    return str(lane.stack.outputs()["volumes"]["mysql"]["zone"])


def move(lane: Lane, point: Point | None) -> Outcome:
    """Moves MySQL's volume to the other zone; killed at the point, and run again."""
    there = ZONES[ZONES.index(zone_of(lane)) - 1]
    outcome = _outcome("move", point)
    with Pauses(lane.writer) as pauses:
        lane.await_writes()
        _killed_and_again(lane, ("move", "mysql", "--zone", there), point, outcome)
        lane.await_writes()
    _judge(lane, outcome, pauses)
    return outcome


def failover(lane: Lane, point: Point | None) -> Outcome:
    """Loses the zone of MySQL's volume some seconds after a snapshot, and goes on in the other one."""
    here = zone_of(lane)
    there = ZONES[ZONES.index(here) - 1]
    outcome = _outcome("failover", point)
    with Pauses(lane.writer) as pauses:
        lane.await_writes()
        before_snapshot = set(lane.writer.acknowledged)
        ended_well(lane.operate("snapshot", "mysql", timeout_s=_TIMEOUT_S))
        lane.await_writes()
        struck_at = _lose(lane, here)
        _killed_and_again(lane, ("failover", "mysql", "--zone", there), point, outcome)
        lane.await_writes()
        lost = lane.writer.lost()
        if early := lost & before_snapshot:
            outcome.problems.append(f"{len(early)} rows from before the snapshot are missing")
        if lost:
            first = next(index for index, one in enumerate(lane.writer.acknowledged) if one in lost)
            outcome.lost_min = (struck_at - pauses.when(first + 1)) / 60
        if outcome.lost_min > outcome.said_min + 0.06:
            outcome.problems.append(f"{outcome.lost_min:.2f} minutes are lost, and {outcome.said_min:.2f} were said")
        _bring_back(lane, here)
        lane.await_writes()
        if later := lane.writer.lost() - lost:
            outcome.problems.append(f"{len(later)} rows went missing when the zone came back")
    _judge(lane, outcome, pauses)
    # Those were told: what comes after is judged for itself.
    lane.writer.elsewhere |= lane.writer.lost()
    return outcome


def _outcome(command: str, point: Point | None) -> Outcome:
    return Outcome(command, point.who if point else "nothing", point.told if point else "")


def _lose(lane: Lane, zone: str) -> float:
    """Cuts every client of a zone off, and waits until Nomad knows; when it was (monotonic)."""
    at = time.monotonic()
    for client in CLIENTS[zone]:
        lane.stack.ctl("cut", client)
    with lane.waits(f"Nomad has lost {zone}", _TIMEOUT_S):
        eventually(
            lambda: {_status(lane, client) for client in CLIENTS[zone]} == {"down"} or None,
            _TIMEOUT_S,
            "Nomad calls the zone's clients down",
        )
    return at


def _status(lane: Lane, client: str) -> str:
    return next((one.status for one in clients.listed(lane.stack.nomad) if one.name == client), clients.GONE)


def _bring_back(lane: Lane, zone: str) -> None:
    """Connects a zone again; MySQL may not start there."""
    for client in CLIENTS[zone]:
        lane.stack.ctl("heal", client)
    with lane.waits(f"{zone} is back", _TIMEOUT_S):
        eventually(
            lambda: {_status(lane, client) for client in CLIENTS[zone]} == {"ready"} or None,
            _TIMEOUT_S,
            "the zone's clients are ready again",
        )
    for client in CLIENTS[zone]:
        assert instance_of(lane.stack, client), f"{client} has no instance"


def _killed_and_again(lane: Lane, words: tuple[str, ...], point: Point | None, outcome: Outcome) -> None:
    if point is not None:
        process = lane.start(lane.stack.python, "-m", "nomad_stateful.operate", *words, "--yes")
        if not strike(process, lane.newest_log, point):
            outcome.problems.append(f"it ended before it was killed: {lane.newest_log.read_text()[-1500:]}")
    began = time.monotonic()
    done = lane.operate(*words, "--yes", "--json", timeout_s=_TIMEOUT_S)
    (lane.logs / f"{len(list(lane.logs.iterdir())) + 1:03d}-again.txt").write_text(done.stdout + done.stderr)
    outcome.seconds = time.monotonic() - began
    if done.returncode != 0:
        raise AssertionError(f"the same command again failed:\n{done.stdout[-2000:]}{done.stderr[-8000:]}")
    result: dict[str, Any] = json.loads(done.stdout)
    outcome.said_min = float(result["lostMinutes"])


def _judge(lane: Lane, outcome: Outcome, pauses: Pauses) -> None:
    outcome.away_s = pauses.longest_s
    outcome.acknowledged = len(lane.writer.acknowledged)
    outcome.lost = len(lane.writer.lost())
    if outcome.command == "move" and outcome.lost:
        outcome.problems.append(f"{outcome.lost} acknowledged rows are missing")
    # A failover loses what it said: the history does not know that.
    outcome.problems += (lane.writer.contradictions() if outcome.command == "move" else []) + broken(lane)
