"""Where the time goes in a deploy: what Nomad and EC2 themselves recorded of one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from tools.bench.rig import Rig
from tools.bench.wanted import MYSQL

CASE = "course"
OWN = "of it the contender's own: until the first job, and from the healthy plugin to MySQL's job"


def marks(rig: Rig, started: float, healthy_at: float) -> list[tuple[str, float]]:
    """What happened and how many seconds after `started` (since the epoch), in the order of the story.

    `healthy_at` is when Nomad's server was seen to list what MySQL's volume needs; 0 when it was not. What did not
    happen is left out.
    """
    plugins = [found for stub in _allocations(rig) if stub["JobID"] != MYSQL for found in _events(stub)]
    server = [found for stub in _allocations(rig) if stub["JobID"] == MYSQL for found in _events(stub)]
    jobs = {job["ID"]: job["SubmitTime"] / 1e9 for job in rig.nomad.get("jobs")}
    submitted = jobs.pop(MYSQL, 0.0)
    first_job = min(jobs.values(), default=0.0)
    found = [
        ("the first job is submitted", first_job),
        ("the driver's first task has started", _first(plugins, "Started")),
        ("a client's agent finds its driver healthy", _first(plugins, "Plugin became healthy")),
        ("Nomad's server lists controller and node plugin as healthy", healthy_at),
        ("MySQL is submitted", submitted),
        ("EC2 is asked to attach the volume", _attached_at(rig, submitted)),
        ("MySQL's task is set up", _first(server, "Task Setup")),
        ("MySQL's process has started", _first(server, "Started")),
    ]
    after = [(name, at - started) for name, at in found if at > 0]
    if first_job and healthy_at and submitted:
        after.append((OWN, first_job - started + submitted - healthy_at))
    return after


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
