"""The binary logs in S3, and which of them lead from a snapshot to a point in time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NoReturn

from botocore.exceptions import ClientError

from operate.errors import OperateError
from operate.point_in_time.binlog import GtidSet, previous, transactions

FOLDER = "binlogs/"
_UNTIL = "until"
_KEY = re.compile(r"(?P<began>\d{8}T\d{6}Z)-(?P<name>.+\.(?P<number>\d{6,}))(-\d+)?")
_SHOWN = "%Y-%m-%dT%H:%M:%SZ"


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


@dataclass(frozen=True)
class Stored:
    """What is in S3."""

    bucket: str
    prefix: str
    logs: tuple[Log, ...]
    until: datetime | None
    """Until when every transaction is there; None where nothing was copied yet."""
    covers: str = ""
    """Key of the newest log that `until` is true of; "" where an earlier release wrote it."""


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


def stored(s3: Any, bucket: str, prefix: str) -> Stored:
    """Lists the logs; `prefix` is the stack's. Raises botocore's errors."""
    # Before the logs are listed: what it is true of has to be among them.
    reached, covers = _until(s3, bucket, prefix)
    folder, logs = f"{prefix}{FOLDER}", []
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=folder):
        for one in page.get("Contents") or []:
            key = str(one["Key"])
            if (found := _KEY.fullmatch(key.removeprefix(folder))) is not None:
                began = datetime.strptime(found["began"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
                logs.append(Log(key, found["name"], int(found["number"]), began, int(one["Size"])))
    return Stored(bucket, prefix, tuple(logs), reached, covers)


def until(s3: Any, bucket: str, prefix: str) -> datetime | None:
    """Returns until when every transaction is in S3; None where nothing was copied yet. Raises botocore's errors."""
    return _until(s3, bucket, prefix)[0]


def _until(s3: Any, bucket: str, prefix: str) -> tuple[datetime | None, str]:
    """Returns that time, and the newest log that it is true of; "" where an earlier release wrote it."""
    try:
        text = s3.get_object(Bucket=bucket, Key=f"{prefix}{FOLDER}{_UNTIL}")["Body"].read().decode()
    except ClientError as error:
        if error.response.get("Error", {}).get("Code") != "NoSuchKey":
            raise
        return None, ""
    moment, *more = text.splitlines()
    said = dict(line.split(" ", 1) for line in more if " " in line)
    return datetime.strptime(moment.strip(), _SHOWN).replace(tzinfo=UTC), said.get("newest", "")


def replay(s3: Any, known: Stored, base: datetime, to: datetime) -> Replay:
    """Returns the logs from `base`, when the snapshot was taken, and the transactions they are applied up to.

    Raises PointInTimeError, BinlogError and botocore's errors.
    """
    if known.until is None or not known.logs:
        raise PointInTimeError(f"there is no binary log in s3://{known.bucket}/{known.prefix}{FOLDER}: {_WHY_NOT}")
    if to > known.until:
        raise PointInTimeError(
            f"--to is {to:{_SHOWN}}, and the binary logs in S3 reach until {known.until:{_SHOWN}}: name a time up to "
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


def chain(logs: Sequence[Log], base: datetime, to: datetime) -> list[Log]:
    """Returns the logs of one server, each the next one's predecessor, from `base` on. Raises PointInTimeError."""
    before = [log for log in logs if log.began <= base]
    if not before:
        first = min(log.began for log in logs)
        raise PointInTimeError(
            f"the binary logs in S3 begin at {first:{_SHOWN}}, after the snapshot of {base:{_SHOWN}}: restore from a "
            "newer one (`python -m operate snapshots`, then --snapshot ID)"
        )
    newest = max(before, key=lambda log: (log.began, log.number, log.size))
    found, whole = [newest], _whole(logs)
    while following := [
        log for log in whole if log.number == found[-1].number + 1 and found[-1].began <= log.began <= to
    ]:
        _refuse_fork(logs, found[-1], following)
        found.append(following[0])
    if left := [log for log in whole if found[-1].began < log.began <= to]:
        raise PointInTimeError(
            f"after {found[-1].name} of {found[-1].began:{_SHOWN}}, {left[0].name} is the next log in S3: what lies "
            f"between is missing. Go on from a snapshot taken after {max(log.began for log in left):{_SHOWN}}, with "
            "--snapshot ID, or to a time before that"
        )
    # One earlier, as clocks differ; what the snapshot has already is not applied again.
    earlier = [log for log in whole if log.began <= base and log.number == newest.number - 1]
    if len(earlier) == 1:
        found.insert(0, earlier[0])
    # Two may have begun in one second.
    start = (found[0].began, found[0].number)
    between = [log for log in whole if start <= (log.began, log.number) and log.began <= found[-1].began]
    if len(between) != len(found):
        _refuse(found[0], between)
    return found


def _whole(logs: Sequence[Log]) -> list[Log]:
    """Returns the logs without those that the first server on a restored volume found cut short, and copied again."""
    longest: dict[tuple[int, datetime], Log] = {}
    for log in logs:
        known = longest.get((log.number, log.began))
        longest[log.number, log.began] = log if known is None or log.size > known.size else known
    return [log for log in logs if log is longest[log.number, log.began]]


def _refuse_others(known: Stored, found: Sequence[Log], to: datetime) -> None:
    """Raises PointInTimeError where `until` is true of other logs than these, so of these nothing says they are all."""
    covered = next((log for log in known.logs if log.key == known.covers), None)
    if known.covers and (covered is None or (covered.began <= to and covered not in found)):
        raise PointInTimeError(
            f"s3://{known.bucket}/{known.prefix}{FOLDER}{_UNTIL} is true of the logs up to {known.covers}, to which "
            f"those from the snapshot do not lead: they end with {found[-1].key}. Another server copies to the same "
            "place, or did so last: go on from a snapshot of that one, with --snapshot ID, or to a time before it"
        )


def _refuse_fork(logs: Sequence[Log], before: Log, following: Sequence[Log]) -> None:
    """Raises PointInTimeError where the volume was restored meanwhile: then one server's logs do not lead on."""
    cut = [log for log in logs if (log.number, log.began) == (before.number, before.began) and log != before]
    # Two servers went on from a log that was cut: until the later one did, what follows is the first one's.
    both = [log for log in _whole(logs) if log.number == before.number + 1 and log.began >= before.began]
    if len(following) > 1 or (cut and len(both) < 2):
        _refuse(before, following)


def _refuse(before: Log, following: Sequence[Log]) -> NoReturn:
    restored = max(log.began for log in following)
    raise PointInTimeError(
        f"after {before.name} of {before.began:{_SHOWN}} the volume was itself restored, and other logs follow: go on "
        f"from a snapshot taken after {restored:{_SHOWN}}, with --snapshot ID, or to a time before that"
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
