"""The binary logs in S3."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from botocore.exceptions import ClientError

from nomad_stateful.drivers import dump_policy
from operate.errors import OperateError

FOLDER, UNTIL = dump_policy.LOGS, dump_policy.UNTIL
# What clients can write there goes into scripts and messages: nothing but what binlog-copy writes is a log.
_KEY = re.compile(r"(?P<began>[0-9]{8}T[0-9]{6}Z)-(?P<name>[A-Za-z0-9_-]+[.](?P<number>[0-9]{6,}))(-[0-9]+)?")
SHOWN = "%Y-%m-%dT%H:%M:%SZ"


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


def stored(s3: Any, bucket: str, prefix: str) -> Stored:
    """Lists the logs; `prefix` is the stack's. Raises PointInTimeError and botocore's errors."""
    # Before the logs are listed: what it is true of has to be among them.
    reached, covers = _until(s3, bucket, prefix)
    folder = f"{prefix}{FOLDER}"
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=folder)
    objects = (one for page in pages for one in page.get("Contents") or [])
    logs = (_log(str(one["Key"]), folder, int(one["Size"])) for one in objects)
    return Stored(bucket, prefix, tuple(filter(None, logs)), reached, covers)


def _log(key: str, folder: str, size: int) -> Log | None:
    """Returns the log of a key; None where it is none."""
    if (found := _KEY.fullmatch(key.removeprefix(folder))) is None:
        return None
    began = named_time(found["began"])
    return None if began is None else Log(key, found["name"], int(found["number"]), began, size)


def named_time(text: str) -> datetime | None:
    """Returns the time (UTC) that begins a name in S3, 20260101T030000Z; None where it is none, as 20261399T…."""
    try:
        return datetime.strptime(text, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    except ValueError:
        return None


def until(s3: Any, bucket: str, prefix: str) -> datetime | None:
    """Returns until when every transaction is in S3; None where nothing was copied yet.

    Raises PointInTimeError and botocore's errors.
    """
    return _until(s3, bucket, prefix)[0]


def _until(s3: Any, bucket: str, prefix: str) -> tuple[datetime | None, str]:
    """Returns that time, and the newest log that it is true of; "" where an earlier release wrote it."""
    key = f"{prefix}{FOLDER}{UNTIL}"
    try:
        text = s3.get_object(Bucket=bucket, Key=key)["Body"].read().decode(errors="replace")
    except ClientError as error:
        if error.response.get("Error", {}).get("Code") != "NoSuchKey":
            raise
        return None, ""
    moment, *more = text.splitlines() or [""]
    said = dict(line.split(" ", 1) for line in more if " " in line)
    try:
        return datetime.strptime(moment.strip(), SHOWN).replace(tzinfo=UTC), said.get("newest", "")
    except ValueError:
        raise PointInTimeError(
            f"s3://{bucket}/{key} begins with {moment[:40]!r}, which is no time of binlog-copy's: somebody else wrote "
            "it. Take a snapshot, then remove it: the next round writes it anew"
        ) from None
