"""The binary logs in S3, and which of them lead from a snapshot to a point in time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NoReturn

from botocore.exceptions import ClientError

from operate.errors import OperateError
from operate.point_in_time.binlog import transactions

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

    @property
    def size(self) -> int:
        """Bytes of all logs."""
        return sum(log.size for log in self.logs)


def stored(s3: Any, bucket: str, prefix: str) -> Stored:
    """Lists the logs; `prefix` is the stack's. Raises botocore's errors."""
    folder, logs = f"{prefix}{FOLDER}", []
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=folder):
        for one in page.get("Contents") or []:
            key = str(one["Key"])
            if (found := _KEY.fullmatch(key.removeprefix(folder))) is not None:
                began = datetime.strptime(found["began"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
                logs.append(Log(key, found["name"], int(found["number"]), began, int(one["Size"])))
    return Stored(bucket, prefix, tuple(logs), until(s3, bucket, prefix))


def until(s3: Any, bucket: str, prefix: str) -> datetime | None:
    """Returns until when every transaction is in S3; None where nothing was copied yet. Raises botocore's errors."""
    try:
        text = s3.get_object(Bucket=bucket, Key=f"{prefix}{FOLDER}{_UNTIL}")["Body"].read().decode().strip()
    except ClientError as error:
        if error.response.get("Error", {}).get("Code") != "NoSuchKey":
            raise
        return None
    return datetime.strptime(text, _SHOWN).replace(tzinfo=UTC)


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
    last, after = "", ""
    # The last one that has a transaction of the time; most often it is the very last.
    for log in reversed(logs):
        last, after_here = _bounds(s3, known.bucket, log, to)
        after = after_here or after
        if last:
            break
    return Replay(known.bucket, tuple(logs), to, last, after)


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
    found = [newest]
    while following := [
        log for log in logs if log.number == found[-1].number + 1 and found[-1].began <= log.began <= to
    ]:
        _refuse_fork(logs, found[-1], following)
        found.append(following[0])
    if left := [log for log in logs if found[-1].began < log.began <= to]:
        raise PointInTimeError(
            f"after {found[-1].name} of {found[-1].began:{_SHOWN}}, {left[0].name} is the next log in S3: what lies "
            f"between is missing. Go on from a snapshot taken after {max(log.began for log in left):{_SHOWN}}, with "
            "--snapshot ID, or to a time before that"
        )
    # One earlier, as clocks differ; what the snapshot has already is not applied again.
    earlier = [log for log in before if log.number == newest.number - 1]
    if len(earlier) == 1:
        found.insert(0, earlier[0])
    between = [log for log in logs if found[0].began <= log.began <= found[-1].began]
    if len(between) != len(found):
        _refuse(found[0], between)
    return found


def _refuse_fork(logs: Sequence[Log], before: Log, following: Sequence[Log]) -> None:
    """Raises PointInTimeError where the volume was restored meanwhile: then one server's logs do not lead on."""
    cut = [log for log in logs if (log.number, log.began) == (before.number, before.began) and log != before]
    if len(following) > 1 or cut:
        _refuse(before, following)


def _refuse(before: Log, following: Sequence[Log]) -> NoReturn:
    restored = max(log.began for log in following)
    raise PointInTimeError(
        f"after {before.name} of {before.began:{_SHOWN}} the volume was itself restored, and other logs follow: go on "
        f"from a snapshot taken after {restored:{_SHOWN}}, with --snapshot ID, or to a time before that"
    )


def _bounds(s3: Any, bucket: str, log: Log, to: datetime) -> tuple[str, str]:
    """Returns the last transaction up to a time, and the first one after that; "" where there is none."""
    last, after = "", ""
    for one in transactions(f"s3://{bucket}/{log.key}", s3.get_object(Bucket=bucket, Key=log.key)["Body"]):
        if one.committed <= to:
            last, after = one.gtid, ""
        elif not after:
            after = one.gtid
    return last, after


_WHY_NOT = (
    "it takes up to a minute after the first `up` with mysql.pointInTime; `nomad alloc logs -stderr -task binlog-copy "
    "ALLOCATION` says what keeps it"
)
