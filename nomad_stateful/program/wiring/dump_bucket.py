"""From settings to the buckets of MySQL's dumps and binary logs, and who may use them."""

from typing import Any

import pulumi

from nomad_stateful.components.driver_policy import DriverPolicyArgs
from nomad_stateful.components.mysql_backup import DumpCopies
from nomad_stateful.databases.mysql import archive
from nomad_stateful.drivers import dump_policy
from nomad_stateful.program.environment import Environment
from nomad_stateful.program.settings import Settings
from nomad_stateful.program.settings.dump_bucket import KEEP_DAYS, DumpBucket

DUMPS, BINLOGS = "mysql-dumps", "mysql-binlogs"
"""Names of the buckets that the program makes."""


def wanted(settings: Settings) -> dict[str, tuple[str, DumpBucket]]:
    """Returns by the name of the bucket's resource: path and settings of the copies that there are."""
    found: dict[str, tuple[str, DumpBucket]] = {}
    mysql = settings.mysql
    if mysql and mysql.backup and mysql.backup.s3:
        found[DUMPS] = ("mysql.backup.s3", mysql.backup.s3)
    if mysql and mysql.point_in_time:
        found[BINLOGS] = ("mysql.pointInTime.s3", mysql.point_in_time.s3)
    return found


def bucket_inputs(copies: DumpBucket, environment: Environment) -> dict[str, Any]:
    """Returns the inputs of the bucket that the program makes."""
    return {
        "region": copies.region or environment.region,
        "partition": environment.partition,
        "keep_days": copies.keep_days or KEEP_DAYS,
        "kms_key_arn": copies.kms_key_arn,
        "object_lock": {"mode": copies.object_lock.mode, "days": copies.object_lock.days}
        if copies.object_lock
        else None,
        # The clients' own requests would be refused.
        "tls_only": not copies.endpoint.startswith("http://"),
    }


def dump_copies(
    settings: Settings, copies: DumpBucket, environment: Environment, bucket: pulumi.Input[str]
) -> DumpCopies:
    """Returns where each dump or log is copied to."""
    return {
        "bucket": bucket,
        "prefix": prefix(copies, environment),
        "region": copies.region or environment.region,
        "endpoint": copies.endpoint,
        "image": settings.agent_image or "",
        "memory_mib": copies.memory_mib,
    }


def bucket_policy(
    settings: Settings, copies: DumpBucket, environment: Environment, bucket: pulumi.Input[str], *, what: str = "dumps"
) -> DriverPolicyArgs:
    """Returns what the clients may do with the dumps or logs."""

    def document(name: str) -> dict[str, Any]:
        return dump_policy.policy(
            name,
            prefix(copies, environment),
            partition=environment.partition,
            region=copies.region or environment.region,
            kms_key_arn=copies.kms_key_arn,
            replaced=None if what == "dumps" else f"{archive.FOLDER}{archive.UNTIL}",
        )

    return {
        "role": settings.client_role,
        "description": f"What MySQL's {what} to S3 on the Nomad clients need",
        "policy": pulumi.Output.from_input(bucket).apply(document),
        "path": environment.iam_path,
    }


def prefix(copies: DumpBucket, environment: Environment) -> str:
    """Returns what the dumps' keys start with, so that stacks can share a bucket."""
    return copies.prefix or f"{environment.stack}/"
