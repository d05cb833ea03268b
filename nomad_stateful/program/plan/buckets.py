"""The buckets of the database's dumps and logs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from nomad_stateful.databases.model import Database
from nomad_stateful.program.plan.later import Later
from nomad_stateful.program.plan.model import DUMPS, LOGS, Bucket
from nomad_stateful.program.settings import Settings
from nomad_stateful.program.settings.dump_bucket import KEEP_DAYS, DumpBucket

if TYPE_CHECKING:
    from nomad_stateful.components.dump_bucket import DumpBucketArgs


def buckets(settings: Settings, stack: str) -> Iterator[Bucket]:
    """Yields where dumps and logs are copied to, as far as they are; `stack` is PROJECT/STACK."""
    section = settings.database
    if section is None:
        return
    kind = section.kind
    if section.backup and section.backup.s3:
        yield _bucket(settings, kind, DUMPS, section.backup.s3, stack)
    if section.logs:
        yield _bucket(settings, kind, LOGS, section.logs.s3, stack)


def _bucket(settings: Settings, kind: Database, role: str, given: DumpBucket, stack: str) -> Bucket:
    is_dumps, name = role == DUMPS, kind.job(role)
    return Bucket(
        role=role,
        name=name,
        section=f"{kind.name}.{'backup' if is_dumps else 'pointInTime'}.s3",
        holds=f"{kind.title}'s {'dumps' if is_dumps else 'binary logs'}",
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
        replaced=kind.logs.replaced if kind.logs and not is_dumps else None,
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
