"""Where the floor's time goes: what Nomad and EC2 themselves recorded of one way up."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from bench.floor import Floor
from bench.rig import Rig
from bench.wanted import MYSQL

CASE = "course of the floor"


def marks(rig: Rig, floor: Floor) -> list[tuple[str, float]]:
    """Names of what happened and when (seconds since the epoch), in the order of the story."""
    plugins = [found for stub in _allocations(rig) if stub["JobID"] != MYSQL for found in _events(stub)]
    server = [found for stub in _allocations(rig) if stub["JobID"] == MYSQL for found in _events(stub)]
    found = [
        ("the driver's first task has started", _first(plugins, "Started")),
        ("a client's agent finds its driver healthy", _first(plugins, "Plugin became healthy")),
        ("Nomad's server lists controller and node plugin as healthy", floor.seen_healthy_at),
        ("the volume is registered and MySQL submitted", floor.submitted_at),
        ("EC2 is asked to attach the volume", _attached_at(rig, floor.submitted_at)),
        ("MySQL's task is set up", _first(server, "Task Setup")),
        ("MySQL's process has started", _first(server, "Started")),
    ]
    return [(name, at) for name, at in found if at > 0]


def _allocations(rig: Rig) -> list[dict[str, Any]]:
    return [stub for stub in rig.nomad.get("allocations") if stub["ClientStatus"] == "running"]


def _events(stub: dict[str, Any]) -> Iterator[tuple[str, float]]:
    for state in (stub["TaskStates"] or {}).values():
        for event in state["Events"]:
            yield event["Type"], event["Time"] / 1e9


def _first(events: list[tuple[str, float]], kind: str) -> float:
    return min((at for found, at in events if found == kind), default=0)


def _attached_at(rig: Rig, since: float) -> float:
    log = rig.settings.log_dir / "ec2-calls.jsonl"
    for line in log.read_text(encoding="utf-8").splitlines():
        call = json.loads(line)
        at = datetime.fromisoformat(call["time"]).timestamp()
        if call["action"] == "AttachVolume" and at >= since - 1:
            return at
    return 0
