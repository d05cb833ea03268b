"""Where a stack's binary logs are in S3, and how far they reach."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from nomad_stateful.ebs.bucket import Bucket
from nomad_stateful.ebs.ec2_client import AwsPlace, aws_client
from nomad_stateful.operate.point_in_time import logs

LATE_S = 180.0
"""From when on logs are late: they are at most a minute behind while MySQL runs and S3 answers."""


def bucket(place: AwsPlace, region: str, name: str) -> Bucket:
    """Returns a bucket of the stack's account. Raises ProviderError without credentials."""
    return Bucket(aws_client("s3", dataclasses.replace(place, region=region)), name)


def bucket_of_logs(place: AwsPlace, where: Mapping[str, Any]) -> Bucket:
    """Returns the bucket of the binary logs; `where` is the stack's output."""
    return bucket(place, str(where["region"]), str(where["bucket"]))


def until(where: Mapping[str, Any], place: AwsPlace) -> datetime | None:
    """Returns until when every transaction is in S3; None where nothing was copied.

    Raises PointInTimeError, ProviderError and botocore's errors.
    """
    return logs.until(bucket_of_logs(place, where), str(where["prefix"]))


def late(where: Mapping[str, Any] | None, place: AwsPlace) -> str:
    """Returns what is wrong with the copies; "" where nothing is, or the stack copies none."""
    if not where:
        return ""
    reached = until(where, place)
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
