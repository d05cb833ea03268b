"""From settings to the database server, its dumps, its exporter, and the buckets of its dumps and logs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from nomad_stateful.databases.model import Database
from nomad_stateful.program.plan.inputs import THIS_STACK, own_time, placement, registered_volume, restart
from nomad_stateful.program.plan.later import Later
from nomad_stateful.program.plan.model import DUMPS, LOGS, Bucket, StackDatabase
from nomad_stateful.program.plan.programs import database_metrics
from nomad_stateful.program.settings import DatabaseSection, Settings
from nomad_stateful.program.settings.dump_bucket import KEEP_DAYS, DumpBucket
from nomad_stateful.program.settings.group import member_names, router_name

if TYPE_CHECKING:
    from nomad_stateful.components.database import (
        DatabaseAccount,
        DatabaseCertificate,
        DatabaseMember,
        DatabaseServerArgs,
        LogCopies,
    )
    from nomad_stateful.components.database_backup import DatabaseBackupArgs, DumpCopies
    from nomad_stateful.components.database_group import DatabaseGroupArgs
    from nomad_stateful.components.dump_bucket import DumpBucketArgs


def database(settings: Settings, copies: Mapping[str, DumpCopies]) -> StackDatabase | None:
    """Returns the stack's database; `copies` says by role where dumps and logs are copied to."""
    section = settings.database
    if section is None:
        return None
    server = _server(settings, section, copies.get(LOGS))
    return StackDatabase(
        name=section.kind.name,
        server=server,
        group=_group(settings, section, server),
        backup=_backup(settings, section, copies.get(DUMPS)),
        metrics=database_metrics(settings, section),
    )


def _server(settings: Settings, section: DatabaseSection, logs: DumpCopies | None) -> DatabaseServerArgs:
    """Returns the server on its registered volume, of a set on the first."""
    volume = settings.volume(section.volume)
    first = volume.members[0].volume_id
    # A set without a group is what one leaves behind.
    former = member_names(section.job_id) if volume.count is not None and section.replication is None else []
    return {
        "former_members": former,
        "job_id": section.job_id,
        "owner": THIS_STACK,
        "placement": placement(settings),
        "volume": registered_volume(settings, section.volume, first),
        "access_mode": volume.access_mode,
        "mount_path": section.mount_path,
        "data_dir": section.data_dir,
        "port": section.port,
        "task": {
            "image": section.image,
            "command": section.entrypoint,
            "user": section.user,
            "args": section.server_args,
            "uid": section.server_uid,
            "kill_timeout": section.kill_timeout,
            "cpu_mhz": section.cpu_mhz,
            "memory_mib": section.server_memory_mib,
        },
        "service": {
            "provider": section.service_provider,
            "check_interval": section.check_interval,
            "check_timeout": section.check_timeout,
        },
        "restart": restart(section),
        "stop_after_disconnect": own_time(section.disconnect_time),
        "config": section.options,
        "init_scripts": section.init_scripts,
        "tls": {"mode": section.tls, "certificate": _certificate(section)},
        "databases": section.databases,
        "accounts": _accounts(section),
        "binlogs": _logs(section, logs),
        "release_timeout_s": section.release_timeout_s,
        "timeout_s": section.timeout_s,
    }


def _group(settings: Settings, section: DatabaseSection, server: DatabaseServerArgs) -> DatabaseGroupArgs | None:
    """Returns the group, where the server is one."""
    group = section.replication
    if group is None:
        return None
    volumes = [member.volume_id for member in settings.volume(section.volume).members]
    member: DatabaseMember = {
        "group_id": "",
        "first": "",
        "members": member_names(section.job_id),
        "port": group.member_port,
        "message_cache_mib": group.message_cache_mib,
        "image": settings.agent_image or "",
        "agent_port": group.agent_port,
        "agent_memory_mib": group.agent_memory_mib,
    }
    router = group.router
    return {
        "server": server,
        "member": member,
        "volumes": [registered_volume(settings, section.volume, volume_id) for volume_id in volumes],
        "router": {
            "job_id": router_name(section.job_id),
            "task": {"image": router.image, "cpu_mhz": router.cpu_mhz, "memory_mib": router.memory_mib},
            "read_port": group.read_port,
            "max_lag_s": group.max_lag_s,
        },
    }


def _logs(section: DatabaseSection, copies: DumpCopies | None) -> LogCopies | None:
    if section.kind.logs is None or section.logs is None or copies is None:
        return None
    return {**copies, "account": section.kind.logs.account.name, "interval_s": section.logs.interval_s}


def _certificate(section: DatabaseSection) -> DatabaseCertificate | None:
    given = section.tls_certificate
    if given is None:
        return None
    return {
        "certificate": given.certificate,
        "key": Later("secret", f"{section.kind.name}.tlsCertificate.key"),
        "ca": given.ca,
    }


def _accounts(section: DatabaseSection) -> list[DatabaseAccount]:
    accounts: list[DatabaseAccount] = [
        {"name": user.name, "privileges": user.privileges, "database": user.database} for user in section.users
    ]
    logs = section.kind.logs if section.logs is not None else None
    own = [*([section.kind.backup] if section.backup is not None else []), *([logs.account] if logs else [])]
    accounts += [{"name": one.name, "privileges": one.privileges, "database": ""} for one in own]
    return accounts


def _backup(settings: Settings, section: DatabaseSection, copies: DumpCopies | None) -> DatabaseBackupArgs | None:
    """Returns the dumps of the server on a volume of their own, where they are wanted."""
    backup = section.backup
    if backup is None:
        return None
    return {
        "job_id": backup.job_id,
        "owner": THIS_STACK,
        "placement": placement(settings),
        "volume": registered_volume(settings, backup.volume, backup.volume),
        "access_mode": settings.volume(backup.volume).access_mode,
        "mount_path": "/dumps",
        "server": {
            "service": section.job_id,
            # So that a dump is no load of the primary alone.
            "read_service": f"{section.job_id}-read" if section.replication else section.job_id,
            "provider": section.service_provider,
            "tls": section.tls,
            "ca": section.authority,
            "on_every_client": section.replication is not None,
        },
        "account": section.kind.backup.name,
        "account_password": Later("account_password", section.kind.backup.name),
        "root_password": Later("root_password"),
        "schedule": {"cron": backup.schedule, "keep": backup.keep},
        "task": {
            "image": section.image,
            "user": section.user,
            "cpu_mhz": backup.cpu_mhz,
            "memory_mib": backup.memory_mib,
        },
        "s3": copies,
        "release_timeout_s": backup.release_timeout_s,
    }


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
