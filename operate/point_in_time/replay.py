"""What leads from a snapshot to a point in time: the logs, and which of their transactions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from operate.point_in_time.binlog import GtidSet, previous, transactions
from operate.point_in_time.chain import chain
from operate.point_in_time.logs import FOLDER, SHOWN, UNTIL, Log, PointInTimeError, Stored


@dataclass(frozen=True)
class Replay:
    """What leads from a snapshot to the point in time."""

    bucket: str
    logs: tuple[Log, ...]
    to: datetime
    last: str
    """GTID of the last transaction that is wanted; "" where the logs have none."""
    after: str
    """GTID of the first one that is not; "" where the logs have none."""
    begins: str
    """GTIDs of all transactions before the first log: the snapshot has to have them."""
    before_last: str
    """GTIDs of all transactions before the log of `last`: the restored server has to have them."""
    ends: str
    """GTIDs of all transactions up to the end of the last log: the snapshot must have no others."""
    others: tuple[str, ...] = ()
    """Keys between those of the first and the last log that do not belong to them."""

    @property
    def size(self) -> int:
        """Bytes of all logs."""
        return sum(log.size for log in self.logs)


def replay(s3: Any, known: Stored, base: datetime, to: datetime) -> Replay:
    """Returns the logs from `base`, when the snapshot was taken, and the transactions they are applied up to.

    Raises PointInTimeError, BinlogError and botocore's errors.
    """
    if known.until is None or not known.logs:
        raise PointInTimeError(f"there is no binary log in s3://{known.bucket}/{known.prefix}{FOLDER}: {_WHY_NOT}")
    if to > known.until:
        raise PointInTimeError(
            f"--to is {to:{SHOWN}}, and the binary logs in S3 reach until {known.until:{SHOWN}}: name a time up to "
            "that (`--to latest` is the last), or wait until they have come further"
        )
    logs = chain(known.logs, base, to)
    _refuse_others(known, logs, to)
    found = _Found()
    # The last one that has a transaction of the time; most often it is the very last.
    for log in reversed(logs):
        found = _read(s3, known.bucket, log, to, found)
        if found.last:
            break
    begins = previous(*_open(s3, known.bucket, logs[0]))
    keys = {log.key for log in logs}
    others = [log.key for log in known.logs if logs[0].key < log.key < logs[-1].key and log.key not in keys]
    return Replay(
        known.bucket, tuple(logs), to, found.last, found.after, begins, found.before, found.ends, tuple(others)
    )


def _refuse_others(known: Stored, found: Sequence[Log], to: datetime) -> None:
    """Raises PointInTimeError where `until` is true of other logs than these, so of these nothing says they are all."""
    covered = next((log for log in known.logs if log.key == known.covers), None)
    if known.covers and (covered is None or (covered.began <= to and covered not in found)):
        raise PointInTimeError(
            f"s3://{known.bucket}/{known.prefix}{FOLDER}{UNTIL} is true of the logs up to {known.covers}, to which "
            f"those from the snapshot do not lead: they end with {found[-1].key}. Another server copies to the same "
            "place, or did so last: go on from a snapshot of that one, with --snapshot ID, or to a time before it"
        )


@dataclass(frozen=True)
class _Found:
    """What the last logs say, the newest first."""

    last: str = ""
    after: str = ""
    before: str = ""
    ends: str = ""


def _read(s3: Any, bucket: str, log: Log, to: datetime, known: _Found) -> _Found:
    """Returns what is known with one log more, which is the one before those that were read."""
    last, after, gtids = "", "", GtidSet()
    for one in transactions(*_open(s3, bucket, log)):
        gtids.add(one.gtid)
        if one.committed <= to:
            last, after = one.gtid, ""
        elif not after:
            after = one.gtid
    before = previous(*_open(s3, bucket, log))
    ends = known.ends or ",".join(one for one in (before, str(gtids)) if one)
    return _Found(last, after or known.after, before, ends)


def _open(s3: Any, bucket: str, log: Log) -> tuple[str, Any]:
    return f"s3://{bucket}/{log.key}", s3.get_object(Bucket=bucket, Key=log.key)["Body"]


_WHY_NOT = (
    "it takes up to a minute after the first `up` with mysql.pointInTime; `nomad alloc logs -stderr -task binlog-copy "
    "ALLOCATION` says what keeps it"
)
