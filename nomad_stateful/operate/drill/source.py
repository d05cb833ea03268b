"""What a drill restores: a snapshot, a point in time or a dump; and whether it is too old."""

from argparse import ArgumentTypeError
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial

from nomad_stateful.ebs.ec2_client import AwsPlace
from nomad_stateful.ebs.snapshots import EbsSnapshots, Snapshot
from nomad_stateful.ebs.snapshots import newest as newest_of
from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.paths import job_path
from nomad_stateful.operate.drill import dumps
from nomad_stateful.operate.drill import job as jobs
from nomad_stateful.operate.drill.model import LATEST, DrillError, Json, Options, Scratch, Target
from nomad_stateful.operate.drill.report import Report
from nomad_stateful.operate.point_in_time import logs
from nomad_stateful.operate.point_in_time.logs import PointInTimeError, bucket_of_logs
from nomad_stateful.operate.point_in_time.replay import Replay, add_logs
from nomad_stateful.operate.point_in_time.replay import replay as read
from nomad_stateful.operate.stack import DatabaseOutputs

# A snapshot may have what was written shortly after EC2 says that it was begun.
_MARGIN = timedelta(seconds=15)


@dataclass(frozen=True)
class Source:
    """A snapshot, a point in time or a dump, as a drill restores it."""

    scratch: Scratch
    add: Callable[[Json], None]
    """Changes the drill's job so that its server has the source."""


@dataclass(frozen=True)
class Sources:
    """Where the stack's backups are."""

    server: DatabaseOutputs | None
    """The stack's database; None where it has none."""
    nomad: NomadApi
    aws: AwsPlace
    target: Target

    def choose(self, options: Options, report: Report) -> Source | None:
        """Chooses one and notes it in the report; None where there is none.

        Raises OperateError where what was named is not there, ProviderError and botocore's errors of S3.
        """
        if options.dump:
            return self._dump(options, report)
        if options.to:
            return self._point_in_time(options, report)
        found = named(self.aws, self.target, options) if options.snapshot else None
        report.backup = found = found or newest(self.aws, self.target)
        return None if found is None else Source(_from(found), lambda _: None)

    def _dump(self, options: Options, report: Report) -> Source | None:
        report.dump_job, restore = dumps.restore_job(self.server, self.nomad, self.target)
        report.dump_namespace = self.server.namespace if self.server else "default"
        found = dumps.choose(restore, self.aws, options, report, dumps.made(self.server, self.nomad))
        if found is None:
            return None
        return Source(
            dumps.empty_for(self.aws, self.target, found), partial(jobs.add_dump, restore=restore, dump=found)
        )

    def _point_in_time(self, options: Options, report: Report) -> Source | None:
        found = replay(self.server, self.aws, self.target, options, report)
        if found is None or self.server is None or not isinstance(report.backup, Snapshot):
            return None
        job = next(one.job for one in self.server.servers if one.volume == self.target.volume)
        live = self.nomad.get(job_path(job), namespace=self.server.namespace)
        return Source(_from(report.backup), partial(add_logs, live=live, replay=found))


def _from(snapshot: Snapshot) -> Scratch:
    return Scratch(snapshot.size_gib, snapshot.id)


def newest(place: AwsPlace, target: Target, before: datetime | None = None) -> Snapshot | None:
    """Returns the newest complete snapshot of the volume: what a failover would go on from.

    With `before`, the newest that was begun by then, also of an earlier EBS volume of its name in the stack.
    """
    snapshots = EbsSnapshots(place)
    if before is None:
        return newest_of(snapshots.of_volume(target.volume_id, target.made_from))
    found = snapshots.of_volume(target.volume_id) + snapshots.of_name(target.volume, target.stack)
    return newest_of(found, before)


def named(place: AwsPlace, target: Target, options: Options) -> Snapshot:
    """Returns the snapshot of --snapshot.

    Raises DrillError where there is none, or it is another stack's or not complete, and ProviderError.
    """
    found = EbsSnapshots(place).find(options.snapshot)
    if found is None:
        raise DrillError(
            f"--snapshot is {options.snapshot}: EC2 has none of that id in this account and region. Name one of "
            f"`nomad-stateful snapshots {target.volume}`"
        )
    expected, of = options.snapshot_stack or target.stack, found.stack
    if of and of != expected and not found.is_of(target.volume_id, target.made_from):
        raise DrillError(
            f"--snapshot {found.id} is of volume {found.tags.get('Name') or found.volume_id} of stack {of}: name one "
            f"of `nomad-stateful snapshots {target.volume}`, or say --snapshot-stack {of} if that is meant"
        )
    if not found.is_complete:
        raise DrillError(
            f"snapshot {found.id} is {found.state} ({found.progress}): wait until it is completed, or leave --snapshot "
            "out, which takes the newest that is"
        )
    return found


def replay(
    server: DatabaseOutputs | None, place: AwsPlace, target: Target, options: Options, report: Report
) -> Replay | None:
    """Chooses snapshot and logs, and notes them in the report; None where there is no snapshot.

    Raises OperateError where the point in time cannot be reached, and botocore's errors.
    """
    if server is None or not server.kind.has_logs:
        title = server.kind.title if server else "the stack"
        raise PointInTimeError(f"{title} has no logs that are copied to S3: leave --to out")
    where = server.point_in_time
    if not where:
        raise PointInTimeError(
            f"the stack copies no binary logs: set {server.kind.name}.pointInTime and run `pulumi up`"
        )
    if target.volume not in [one.volume for one in server.servers]:
        raise PointInTimeError(
            f"volume {target.volume} is not {server.kind.title}'s: leave --to out, or name {server.volume}"
        )
    there = logs.stored(bucket_of_logs(place, where), str(where["prefix"]))
    # Until something was copied, the latest is now; that nothing was is told by the logs.
    to = (there.until or datetime.now(UTC)) if options.to == LATEST else datetime.fromisoformat(options.to)
    report.to = to
    chosen = named(place, target, options) if options.snapshot else None
    if chosen is not None and chosen.taken > to:
        raise PointInTimeError(
            f"--snapshot {options.snapshot} was taken at {chosen.taken:%Y-%m-%dT%H:%M:%SZ}, after --to: "
            "name an earlier one, or leave it out"
        )
    report.backup = base = chosen or newest(place, target, before=to - _MARGIN)
    if base is None:
        return None
    found = read(there, base.taken, to)
    report.logs, report.log_bytes = len(found.logs), found.size
    return found


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


def judge(report: Report, max_age_s: float | None) -> None:
    """Adds what is wrong before anything is restored: no snapshot or dump, or an old one."""
    found = report.backup
    if found is None:
        report.wrong(*_nothing(report))
    elif max_age_s is not None and (report.rpo_s or 0) > max_age_s:
        report.wrong(
            f"the newest {report.what}, {found.id}, is {_age(report.rpo_s or 0)} old: --max-age allows "
            f"{_age(max_age_s)}",
            "see whether the schedule still runs (`aws dlm get-lifecycle-policies --state ERROR`, and the policy's "
            f"role); for a snapshot now: `nomad-stateful snapshot {report.volume}`"
            if isinstance(found, Snapshot)
            else f"see whether they still run and are copied (`nomad-stateful status`); {report.dump_now}",
        )


def judge_newest(report: Report, max_lag_s: float) -> None:
    """Adds what is wrong with a newest row that is much older than what was restored: rows are missing from it."""
    found = report.backup
    if found is None or report.newest is None:
        return
    what = "point in time" if report.to else report.what
    lag_s = ((report.to or found.taken) - report.newest).total_seconds()
    if lag_s > max_lag_s:
        why = (
            " (the snapshot's redo log may be damaged, or something was written without the binary log)"
            if isinstance(found, Snapshot)
            else ""
        )
        report.wrong(
            f"the newest row is {_age(lag_s)} older than the {what}: --max-lag allows {_age(max_lag_s)}",
            f"see whether the live server has newer rows of that time: if it has, the {what} lacks them{why}: "
            f"{report.earlier}",
        )


def _nothing(report: Report) -> tuple[str, str]:
    if report.dumps:
        return (
            f"there is no dump in {report.dumps}",
            f"see what keeps them (`nomad-stateful status`); {report.dump_now}",
        )
    early = f" that was begun 15 s before {report.to:%Y-%m-%dT%H:%M:%SZ}, or earlier" if report.to else ""
    then = "schedule them (volumes[].snapshots, docs/volumes.md) and run `pulumi up`"
    now = f"for one now: `nomad-stateful snapshot {report.volume}`"
    return f"there is no completed snapshot of volume {report.volume}{early}", f"{then}; {now}"


def _age(seconds: float) -> str:
    return f"{seconds / 3600:.1f} h" if seconds >= 3600 else f"{seconds:.0f} s"
