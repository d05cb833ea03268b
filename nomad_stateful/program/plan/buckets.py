"""The buckets of MySQL's dumps and binary logs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from nomad_stateful.databases.mysql import archive
from nomad_stateful.program.plan.later import Later
from nomad_stateful.program.plan.model import Bucket
from nomad_stateful.program.settings import Settings
from nomad_stateful.program.settings.dump_bucket import KEEP_DAYS, DumpBucket

if TYPE_CHECKING:
    from nomad_stateful.components.dump_bucket import DumpBucketArgs

DUMPS, BINLOGS = "mysql-dumps", "mysql-binlogs"
"""Names of the buckets that the program makes."""


def buckets(settings: Settings, stack: str) -> Iterator[Bucket]:
    """Yields where dumps and binary logs are copied to, as far as they are; `stack` is PROJECT/STACK."""
    mysql = settings.mysql
    if mysql and mysql.backup and mysql.backup.s3:
        yield _bucket(settings, DUMPS, mysql.backup.s3, stack)
    if mysql and mysql.point_in_time:
        yield _bucket(settings, BINLOGS, mysql.point_in_time.s3, stack)


def _bucket(settings: Settings, name: str, given: DumpBucket, stack: str) -> Bucket:
    is_dumps = name == DUMPS
    return Bucket(
        name=name,
        section="mysql.backup.s3" if is_dumps else "mysql.pointInTime.s3",
        holds="dumps" if is_dumps else "binary logs",
        copies={
            "bucket": given.bucket or Later("bucket", name, text="made-by-the-stack"),
            # So that stacks can share a bucket.
            "prefix": given.prefix or f"{stack}/",
            "region": given.region or Later("region"),
            "endpoint": given.endpoint,
            "image": settings.agent_image or "",
            "memory_mib": given.memory_mib,
        },
        region=given.region,
        kms_key_arn=given.kms_key_arn,
        replaced=None if is_dumps else f"{archive.FOLDER}{archive.UNTIL}",
        inputs=None if given.bucket is not None else _inputs(given),
    )


def _inputs(given: DumpBucket) -> DumpBucketArgs:
    """Returns what the bucket is made with."""
    lock = given.object_lock
    return {
        "region": given.region or Later("region"),
        "partition": Later("partition"),
        "keep_days": given.keep_days or KEEP_DAYS,
        "kms_key_arn": given.kms_key_arn,
        "object_lock": {"mode": lock.mode, "days": lock.days} if lock else None,
        # The clients' own requests would be refused.
        "tls_only": not given.endpoint.startswith("http://"),
    }
