"""The binary logs in S3."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from nomad_stateful.databases.mysql.archive import FOLDER, UNTIL, LogName, Until, UntilError
from nomad_stateful.ebs.bucket import Bucket
from nomad_stateful.operate.errors import OperateError


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

    bucket: Bucket
    prefix: str
    logs: tuple[Log, ...]
    until: datetime | None
    """Until when every transaction is there; None where nothing was copied yet."""
    covers: str = ""
    """Key of the newest log that `until` is true of; "" where an earlier release wrote it."""


def stored(bucket: Bucket, prefix: str) -> Stored:
    """Lists the logs; `prefix` is the stack's. Raises PointInTimeError and botocore's errors."""
    # Before the logs are listed: what it is true of has to be among them.
    reached, covers = _until(bucket, prefix)
    folder = f"{prefix}{FOLDER}"
    logs = (_log(key, folder, one.size) for key, one in bucket.list(folder).items())
    return Stored(bucket, prefix, tuple(filter(None, logs)), reached, covers)


def _log(key: str, folder: str, size: int) -> Log | None:
    """Returns the log of a key; None where it is none."""
    named = LogName.parse(key.removeprefix(folder))
    return None if named is None else Log(key, named.name, named.number, named.began, size)


def until(bucket: Bucket, prefix: str) -> datetime | None:
    """Returns until when every transaction is in S3; None where nothing was copied yet.

    Raises PointInTimeError and botocore's errors.
    """
    return _until(bucket, prefix)[0]


def _until(bucket: Bucket, prefix: str) -> tuple[datetime | None, str]:
    """Returns that time, and the newest log that it is true of; "" where an earlier release wrote it."""
    key = f"{prefix}{FOLDER}{UNTIL}"
    there = bucket.read(key)
    if there is None:
        return None, ""
    try:
        found = Until.parse(there.text)
    except UntilError as error:
        raise PointInTimeError(
            f"s3://{bucket.name}/{key} {error}, which is no time of the agent's: somebody else wrote it. Take a "
            "snapshot, then remove it: the next round writes it anew"
        ) from None
    return found.moment, found.newest
