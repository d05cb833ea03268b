"""The stack on one screen: clients, plugins, volumes with what holds them, consumers, and what is wrong."""

import json
import sys
from argparse import ArgumentParser, ArgumentTypeError
from contextlib import closing, suppress
from datetime import UTC, datetime
from typing import Any

from nomad_stateful.ebs.volumes import Attachment
from nomad_stateful.nomad.csi_starts import Start
from nomad_stateful.nomad.periodic_runs import FailingRun
from nomad_stateful.operate.cluster import connect
from nomad_stateful.operate.frame import Command, reads_only
from nomad_stateful.operate.overview import facts, graph, screen
from nomad_stateful.operate.overview.facts import Overview, VolumeLine
from nomad_stateful.recovery.plan import recovery_plans
from nomad_stateful.terminal import rendered, takes_colour
from nomad_stateful.visible import obeyed
from nomad_stateful.waiting import repeat

_EVERY_S = 2.0
_LONGEST_S = 24 * 3600.0
_CLEAR = "\033[H\033[2J"
"""What has a terminal start over at the top."""


def show(*, as_json: bool = False, every_s: float = 0, drawn: str = "") -> None:
    """Prints the overview; again and again until it is interrupted, where that is asked for."""

    def once() -> float | None:
        found = facts.read(nomad)
        at = f"{datetime.now(UTC):%H:%M:%S} UTC\n" if every_s and not as_json and not drawn else ""
        clear = _CLEAR if at and sys.stdout.isatty() else ""
        shown = _printed(found, as_json=as_json, drawn=drawn, many=bool(every_s))
        print(f"{clear}{at}{shown}", file=sys.stdout if drawn else obeyed(sys.stdout), flush=True)
        return every_s or None

    with closing(connect()) as nomad, suppress(KeyboardInterrupt):
        repeat(once)


def _printed(found: Overview, *, as_json: bool, drawn: str, many: bool) -> str:
    if as_json:
        return json.dumps(as_object(found), indent=None if many else 2)
    if drawn:
        return (graph.mermaid if drawn == "mermaid" else graph.svg)(graph.graph(found))
    return text(found, colour=takes_colour(sys.stdout))


def text(found: Overview, *, colour: bool = False) -> str:
    """Returns the screen."""
    return rendered(screen.lines(found, datetime.now(UTC)), colour=colour)


def as_object(found: Overview) -> dict[str, Any]:
    """Returns the same for scripts: `ok`, what there is, and what is wrong."""
    problems = [{"subject": who, "problem": what} for who, what in found.problems()]
    return {
        "ok": not problems,
        "clients": [
            {"name": one.name, "zone": one.zone, "state": one.state, "instance": one.instance_id}
            for one in found.clients
        ],
        "plugins": [
            {
                "id": one.plugin_id,
                "version": one.version,
                "controllers": _counts(one.controllers),
                "zones": {zone: _counts(counts) for zone, counts in one.zones.items()},
                "starting": [_start(start) for start in one.starts],
            }
            for one in found.plugins
        ],
        "volumes": [_volume(line) for line in found.volumes],
        "consumers": [
            {"job": one.job_id, "status": one.status, "running": one.running, "wanted": one.wanted}
            for one in found.jobs
        ],
        "members": [
            {
                "job": one.job,
                "zone": one.zone,
                "client": one.at.node_name if one.at else "",
                "state": one.state or None,
                "role": one.role or None,
                "lagSeconds": one.lag_s,
                "why": one.why or None,
            }
            for one in found.members
        ],
        "failingDumps": [_dump(run) for run in found.failing_dumps],
        "newestDump": found.newest_backup or None,
        "problems": problems,
        "notRead": list(found.unread),
    }


def _counts(counts: tuple[int, int]) -> dict[str, int]:
    return {"healthy": counts[0], "expected": counts[1]}


def _start(start: Start) -> dict[str, Any]:
    since = f"{start.since:%Y-%m-%dT%H:%M:%SZ}"
    return {"allocation": start.alloc_id, "client": start.client, "since": since, "roles": list(start.roles)}


def _attachment(item: Attachment) -> dict[str, str]:
    return {"instance": item.instance_id, "device": item.device, "state": item.state, "since": item.since}


def _dump(run: FailingRun) -> dict[str, Any]:
    return {
        "job": run.job_id,
        "failures": run.failures,
        "since": run.since,
        "task": run.task,
        "reason": run.reason,
        "again": run.again,
    }


def _volume(line: VolumeLine) -> dict[str, Any]:
    volume, usage = line.volume, line.volume.usage
    attached = usage.attached
    plans = recovery_plans(usage, wanted_free=False)
    return {
        "name": volume.name,
        "id": usage.external_id,
        "namespace": usage.namespace if volume.registered else None,
        "zone": line.zone,
        "size": line.size,
        "fileSystemBytes": line.file_system or None,
        "usedBytes": line.used if line.file_system else None,
        "newestSnapshot": f"{line.snapshot:%Y-%m-%dT%H:%M:%SZ}" if line.snapshot else None,
        "claims": [
            {
                "allocation": claim.alloc_id,
                "job": claim.job_id,
                "status": claim.status,
                "client": client.name if (client := usage.client_of(claim)) else "",
                "clientStatus": client.status if client else "",
                "instance": client.instance_id if client else "",
            }
            for claim in usage.claims
        ],
        "state": attached.state if attached else None,
        "attachments": [_attachment(item) for item in attached.attachments] if attached else [],
        "problems": [{"problem": plan.problem, "steps": [step.command for step in plan.steps]} for plan in plans],
    }


def _arguments(parser: ArgumentParser) -> None:
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--json", action="store_true", help="print an object for scripts; with --watch one on each line")
    forms.add_argument(
        "--graph", choices=("mermaid", "svg"), help="print zones, clients, volumes and consumers as a graph"
    )
    parser.add_argument(
        "--watch",
        nargs="?",
        type=_seconds,
        const=_EVERY_S,
        default=0.0,
        metavar="SECONDS",
        help="show it again and again",
    )


def _seconds(given: str) -> float:
    """Returns a pause that is no burden to Nomad and EC2. Raises ArgumentTypeError."""
    try:
        if 1 <= (every_s := float(given)) <= _LONGEST_S:
            return every_s
    except ValueError:
        pass
    raise ArgumentTypeError(f"{given} must be a number of seconds, 1 or more, at most a day")


COMMAND = Command(
    "status",
    "show the stack on one screen: clients, plugins, volumes and what holds them, consumers, what is wrong",
    lambda known: show(as_json=known.json, every_s=known.watch, drawn=known.graph or ""),
    _arguments,
    reads_only,
)
