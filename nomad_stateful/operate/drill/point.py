"""The point in time that a drill goes to: its snapshot, and the binary logs from there on."""

from __future__ import annotations

from argparse import ArgumentTypeError
from datetime import UTC, datetime, timedelta

from nomad_stateful.ebs.ec2_client import AwsPlace
from nomad_stateful.operate.drill import snapshots
from nomad_stateful.operate.drill.model import Json, Options, Report, Target
from nomad_stateful.operate.point_in_time import logs
from nomad_stateful.operate.point_in_time.logs import PointInTimeError
from nomad_stateful.operate.point_in_time.place import client
from nomad_stateful.operate.point_in_time.replay import Replay
from nomad_stateful.operate.point_in_time.replay import replay as read

LATEST = "latest"
# A snapshot may have what was written shortly after EC2 says that it was begun.
_MARGIN = timedelta(seconds=15)


def replay(known: Json, place: AwsPlace, target: Target, options: Options, report: Report) -> Replay | None:
    """Chooses snapshot and logs, and notes them in the report; None where there is no snapshot.

    Raises OperateError where the point in time cannot be reached, and botocore's errors.
    """
    where = known.get("mysqlPointInTime")
    if not where:
        raise PointInTimeError("the stack copies no binary logs: set mysql.pointInTime and run `pulumi up`")
    if target.volume != known["mysql"]["volume"]:
        raise PointInTimeError(
            f"volume {target.volume} is not MySQL's: leave --to out, or name {known['mysql']['volume']}"
        )
    s3 = client(place, where)
    there = logs.stored(s3, str(where["bucket"]), str(where["prefix"]))
    to = there.until if options.to == LATEST and there.until else _moment(options.to)
    report.to = to
    named = snapshots.named(place, target, options) if options.snapshot else None
    if named is not None and named.taken > to:
        raise PointInTimeError(
            f"--snapshot {options.snapshot} was taken at {named.taken:%Y-%m-%dT%H:%M:%SZ}, after --to: "
            "name an earlier one, or leave it out"
        )
    report.backup = base = named or snapshots.newest(place, target, before=to - _MARGIN)
    if base is None:
        return None
    found = read(s3, there, base.taken, to)
    report.logs, report.log_bytes = len(found.logs), found.size
    return found


def _moment(text: str) -> datetime:
    # Until something was copied, the latest is now; that nothing was is told by the logs.
    return datetime.now(UTC) if text == LATEST else datetime.fromisoformat(text)


def moment(text: str) -> str:
    """Returns a checked --to: latest, or date and time with a zone. Raises ArgumentTypeError."""
    if text == LATEST:
        return text
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError(f"{text} is no time: write it as 2026-11-22T10:15:00Z, or latest") from None
    if found.tzinfo is None:
        raise ArgumentTypeError(f"{text} has no time zone: add Z for UTC, as in {text}Z")
    if found > datetime.now(UTC):
        raise ArgumentTypeError(f"{text} is in the future")
    return found.astimezone(UTC).isoformat()
