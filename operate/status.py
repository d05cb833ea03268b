"""What holds each volume: registration, claims, clients, instances and attachments; what is wrong; dumps that fail."""

import json
import sys
import time
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from nomad_stateful.columns import columns
from nomad_stateful.ebs.attachment import Attachment
from nomad_stateful.nomad.periodic_runs import FailingRun
from nomad_stateful.nomad.volume_claims import Claim
from nomad_stateful.recovery.plan import recovery_plans
from nomad_stateful.recovery.volume_usage import Client, VolumeUsage
from operate import dumps
from operate.cluster import connect
from operate.command import Command, reads_only
from operate.volumes import StackVolume, stack_volumes

_HEADER = ("VOLUME", "AT THE PROVIDER", "REGISTERED", "CLAIMED BY", "ON CLIENT", "INSTANCE", "ATTACHED TO")
_NONE = "-"
_EVERY_S = 2.0
_LONGEST_S = 24 * 3600.0
_CLEAR = "\033[H\033[2J"
"""What has a terminal start over at the top."""


def show(*, as_json: bool = False, every_s: float = 0) -> None:
    """Prints the volumes, with what is wrong; again and again until it is interrupted, where that is asked for."""
    nomad = connect()
    try:
        while True:
            found = stack_volumes(nomad), dumps.failing(nomad)
            printed = json.dumps(as_object(*found), indent=None if every_s else 2) if as_json else text(*found)
            at = f"{datetime.now(UTC):%H:%M:%S} UTC\n" if every_s and not as_json else ""
            clear = _CLEAR if at and sys.stdout.isatty() else ""
            print(f"{clear}{at}{printed}", flush=True)
            if not every_s:
                return
            time.sleep(every_s)
    except KeyboardInterrupt:
        return
    finally:
        nomad.close()


def as_object(volumes: Sequence[StackVolume], failing_dumps: Sequence[FailingRun] = ()) -> dict[str, Any]:
    """Returns the same for scripts: `ok`, and the volumes with what holds them."""
    found = [_object(volume) for volume in volumes]
    wrong = any(volume["problems"] for volume in found) or bool(failing_dumps)
    return {"ok": not wrong, "volumes": found, "failingDumps": [_dump(run) for run in failing_dumps]}


def _attachment(item: Attachment) -> dict[str, str]:
    return {"instance": item.instance_id, "device": item.device, "state": item.state, "since": item.since}


def _dump(run: FailingRun) -> dict[str, Any]:
    return {"job": run.job_id, "failures": run.failures, "since": run.since, "reason": run.reason, "again": run.again}


def _object(volume: StackVolume) -> dict[str, Any]:
    usage = volume.usage
    attached = usage.attached
    plans = recovery_plans(usage, wanted_free=False)
    return {
        "name": volume.name,
        "id": usage.external_id,
        "namespace": usage.namespace if volume.registered else None,
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


def text(volumes: Sequence[StackVolume], failing_dumps: Sequence[FailingRun] = ()) -> str:
    """Returns the table, a row for each claim of a volume."""
    rows = [_HEADER, *[row for volume in volumes for row in _rows(volume)]]
    problems = [
        f"\n{volume.name}: {plan.problem}. `python -m operate recover {volume.name}` says what to do"
        for volume in volumes
        for plan in recovery_plans(volume.usage, wanted_free=False)
    ]
    return "\n".join([columns(rows), *problems, *(f"\n{dumps.text(run)}" for run in failing_dumps)])


def _rows(volume: StackVolume) -> Iterator[tuple[str, ...]]:
    usage = volume.usage
    first = (volume.name, usage.external_id, usage.namespace if volume.registered else "no")
    if not usage.claims:
        yield (*first, _NONE, _NONE, _NONE, _attachments(usage))
    for number, claim in enumerate(usage.claims):
        client = usage.client_of(claim)
        shown = first if number == 0 else ("", "", "")
        attached = _attachments(usage) if number == 0 else ""
        yield (*shown, _claim(claim), _client(client), _instance(usage, client), attached)


def _claim(claim: Claim) -> str:
    return f"{claim.job_id or 'a purged job'} {claim.alloc_id[:8]} ({claim.status or 'forgotten'})"


def _client(client: Client | None) -> str:
    return f"{client.name or client.node_id[:8]} ({client.status})" if client else _NONE


def _instance(usage: VolumeUsage, client: Client | None) -> str:
    if client is None or not client.instance_id:
        return _NONE
    return f"{client.instance_id} ({usage.instance_state(client.instance_id)})"


def _attachments(usage: VolumeUsage) -> str:
    if usage.attached is None:
        return "EC2 does not say" if usage.ec2_error else _NONE
    places = [f"{item.instance_id} ({item.state})" for item in usage.attached.attachments]
    return ", ".join(places) or usage.attached.state


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--json", action="store_true", help="print an object for scripts; with --watch one on each line"
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
    "show what holds each volume: claims, clients, instances, attachments",
    lambda known: show(as_json=known.json, every_s=known.watch),
    _arguments,
    reads_only,
)
