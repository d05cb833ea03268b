"""The binary logs in S3: where they are, how far they reach, and what they say of their transactions."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from nomad_stateful.databases.mysql.archive import FOLDER, NEVER, UNTIL, Facts, LogName, Until, UntilError
from nomad_stateful.databases.mysql.binlog import BinlogError, Closing, contents
from nomad_stateful.databases.mysql.gtids import Gtid, GtidSet, GtidSetBuilder
from nomad_stateful.ebs.bucket import Bucket, Listed
from nomad_stateful.ebs.ec2_client import AwsPlace, aws_client
from nomad_stateful.operate.errors import OperateError

LATE_S = 180.0
"""From when on logs are late: they are at most a minute behind while MySQL runs and S3 answers."""
_AT_ONCE = 8


class PointInTimeError(OperateError):
    """A point in time cannot be restored; the text is the whole message."""


@dataclass(frozen=True)
class Log:
    """A closed binary log in S3."""

    key: str
    name: str
    """The server's name of it, such as binlog.000042."""
    number: int
    began: datetime
    size: int
    """In bytes."""
    member: str = ""
    """The member of a group that wrote it; "" for a single server."""
    copied: datetime = NEVER
    """When it was stored."""


@dataclass(frozen=True)
class Stored:
    """What is in S3."""

    bucket: Bucket
    prefix: str
    logs: tuple[Log, ...]
    until: datetime | None
    """Until when every transaction is there; None where nothing was copied yet."""
    covers: str = ""
    """Key of the newest log that `until` is true of; "" where an earlier release wrote it."""
    gtids: GtidSet | None = None
    """All transactions up to then, of a group; None where a single server wrote it, or an earlier release."""


def stored(bucket: Bucket, prefix: str) -> Stored:
    """Lists the logs; `prefix` is the stack's. Raises PointInTimeError and botocore's errors."""
    # Before the logs are listed: what it is true of has to be among them.
    said = _until(bucket, prefix)
    folder = f"{prefix}{FOLDER}"
    logs = tuple(filter(None, (_log(key, folder, one) for key, one in bucket.list(folder).items())))
    if said is None:
        return Stored(bucket, prefix, logs, None)
    newest = LogName.parse(said.newest.removeprefix(folder))
    # A single server that was a member names none of those that it never logged.
    gtids = None if newest and not newest.member else said.gtids
    return Stored(bucket, prefix, logs, said.moment, said.newest, gtids)


def _log(key: str, folder: str, there: Listed) -> Log | None:
    """Returns the log of a key; None where it is none."""
    named = LogName.parse(key.removeprefix(folder))
    if named is None:
        return None
    return Log(key, named.name, named.number, named.began, there.size, named.member, there.stored)


def until(bucket: Bucket, prefix: str) -> datetime | None:
    """Returns until when every transaction is in S3; None where nothing was copied yet.

    Raises PointInTimeError and botocore's errors.
    """
    said = _until(bucket, prefix)
    return said.moment if said else None


def _until(bucket: Bucket, prefix: str) -> Until | None:
    """Returns what a copier says; None where nothing was copied yet."""
    key = f"{prefix}{FOLDER}{UNTIL}"
    there = bucket.read(key)
    if there is None:
        return None
    try:
        return Until.parse(there.text)
    except UntilError as error:
        raise PointInTimeError(
            f"s3://{bucket.name}/{key} {error}, which is no time of the agent's: somebody else wrote it. Take a "
            "snapshot, then remove it: the next round writes it anew"
        ) from None


def bucket(place: AwsPlace, region: str, name: str) -> Bucket:
    """Returns a bucket of the stack's account. Raises ProviderError without credentials."""
    return Bucket(aws_client("s3", replace(place, region=region)), name)


def bucket_of_logs(place: AwsPlace, where: Mapping[str, Any]) -> Bucket:
    """Returns the bucket of the binary logs; `where` is the stack's output."""
    return bucket(place, str(where["region"]), str(where["bucket"]))


def copied_until(where: Mapping[str, Any], place: AwsPlace) -> datetime | None:
    """Returns until when every transaction is in S3; None where nothing was copied.

    Raises PointInTimeError, ProviderError and botocore's errors.
    """
    return until(bucket_of_logs(place, where), str(where["prefix"]))


def late(where: Mapping[str, Any] | None, place: AwsPlace) -> str:
    """Returns what is wrong with the copies; "" where nothing is, or the stack copies none."""
    if not where:
        return ""
    reached = copied_until(where, place)
    seconds = (datetime.now(UTC) - reached).total_seconds() if reached else None
    if seconds is not None and abs(seconds) < LATE_S:
        return ""
    behind = "have not begun" if seconds is None else f"are {seconds / 60:.0f} min behind"
    if seconds is not None and seconds < 0:
        return (
            f"the copies of its binary logs are said to reach {-seconds / 60:.0f} min into the future, which hides how "
            "late they are: correct the clock of MySQL's client (`chronyc tracking`), or this machine's"
        )
    return (
        f"the copies of its binary logs {behind}: a restore to a point in time does not reach further. "
        "`nomad alloc logs -stderr -task binlogs ALLOCATION` says why"
    )


@dataclass(frozen=True)
class Contents:
    """What a log says of its transactions, and of those up to the point in time."""

    log: Log
    before: GtidSet
    """All of the logs before it."""
    ends: GtidSet
    """All of the logs up to its end."""
    last: Gtid | None
    """The last one that was committed up to the time; None where it has none, or its metadata alone was read."""
    wanted: GtidSet
    """All up to that one; those of the logs before it where it has none."""
    whole: datetime
    """Up to when it and those before it have everything that was committed."""
    rotated: bool
    """Whether its server closed it to begin another at once."""


class Reader:
    """Reads logs for a restore to a time."""

    def __init__(self, stored: Stored, to: datetime) -> None:
        self._stored = stored
        self._to = to

    @contextmanager
    def read_all(self, logs: Sequence[Log]) -> Iterator[Iterator[Contents]]:
        """Has the logs read in their order, some ahead of those that are asked for."""
        pool = ThreadPoolExecutor(_AT_ONCE)
        try:
            yield pool.map(self.read, logs)
        finally:
            pool.shutdown(cancel_futures=True)

    def read(self, log: Log, *, whole: bool = False, have: GtidSet | None = None) -> Contents:
        """Returns what a log says: with `whole` of each transaction, with `have` of those that are not among these.

        Raises PointInTimeError.
        """
        with readable(), self.opened(log) as (metadata, body):
            found = Facts.of_metadata(metadata)
            if whole or found is None or (found.whole > self._to and not log.member):
                return self._read_all_of(log, body, have)
        ends = found.ends
        return Contents(log, found.before, ends, None, ends, found.whole, found.closed_by_rotation)

    def _read_all_of(self, log: Log, body: Any, have: GtidSet | None) -> Contents:
        # A member that begins or closes a log may be behind.
        wanted, whole, rotated = GtidSetBuilder(), NEVER if log.member else log.began, False
        last: Gtid | None = None
        later: list[Gtid] = []
        opening, parts = contents(self.name(log), body)
        for part in parts:
            if not (log.member and isinstance(part, Closing)):
                whole = max(whole, part.at)
            if isinstance(part, Closing):
                rotated = part.rotated
            elif have is not None and part.gtid in have:
                continue
            elif part.at > self._to:
                later.append(part.gtid)
            else:
                # Commits are in the order of their times but for a few.
                last = part.gtid
                wanted.extend([*later, last])
                later = []
        before = opening.before if have is None else have
        up_to = before | wanted.build()
        return Contents(log, before, up_to | GtidSetBuilder(later).build(), last, up_to, whole, rotated)

    @contextmanager
    def opened(self, log: Log) -> Iterator[tuple[Mapping[str, str], Any]]:
        """Gives an object's metadata, which says all of a log that is not needed in part, and its body."""
        there = self._stored.bucket.open(log.key)
        if there is None:
            raise PointInTimeError(f"{self.name(log)} was removed just now: run the same command again")
        metadata, body = there
        with closing(body):
            yield metadata, body

    def name(self, log: Log) -> str:
        """Returns how messages name a log."""
        return f"s3://{self._stored.bucket.name}/{log.key}"


@contextmanager
def readable() -> Iterator[None]:
    """Has a log that cannot be read told as a PointInTimeError."""
    try:
        yield
    except BinlogError as error:
        raise PointInTimeError(f"{error}. Restore from a snapshot that was taken after it, with --snapshot") from None
