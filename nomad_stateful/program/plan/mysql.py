"""From settings to the MySQL server and its dumps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nomad_stateful.program.plan.inputs import THIS_STACK, own_time, placement, registered_volume, restart
from nomad_stateful.program.plan.later import Later
from nomad_stateful.program.settings import Mysql, Settings, point_in_time
from nomad_stateful.program.settings.mysql import BACKUP_ACCOUNT

if TYPE_CHECKING:
    from nomad_stateful.components.mysql import BinlogCopies, MysqlAccount, MysqlCertificate, MysqlServerArgs
    from nomad_stateful.components.mysql_backup import DumpCopies, MysqlBackupArgs

# The least with which every database can be read for a dump.
BACKUP_PRIVILEGES = "SELECT, SHOW VIEW, TRIGGER, EVENT"
# The least with which a binary log can be closed.
BINLOG_PRIVILEGES = "RELOAD"


def mysql_server(settings: Settings, mysql: Mysql, binlogs: DumpCopies | None) -> MysqlServerArgs:
    """Returns the MySQL server on its registered volume."""
    return {
        "job_id": mysql.job_id,
        "owner": THIS_STACK,
        "placement": placement(settings),
        "volume": registered_volume(settings, mysql.volume, mysql.volume),
        "access_mode": settings.volume(mysql.volume).access_mode,
        "mount_path": mysql.mount_path,
        "data_dir": mysql.data_dir,
        "port": mysql.port,
        "task": {
            "image": mysql.image,
            "command": mysql.entrypoint,
            "user": mysql.user,
            "args": mysql.server_args,
            "uid": mysql.server_uid,
            "kill_timeout": mysql.kill_timeout,
            "cpu_mhz": mysql.cpu_mhz,
            "memory_mib": mysql.memory_mib,
        },
        "service": {
            "provider": mysql.service_provider,
            "check_interval": mysql.check_interval,
            "check_timeout": mysql.check_timeout,
        },
        "restart": restart(mysql),
        "stop_after_disconnect": own_time(mysql.stop_after_disconnect),
        "config": mysql.options,
        "init_scripts": mysql.init_scripts,
        "tls": {"mode": mysql.tls, "certificate": _certificate(mysql)},
        "databases": mysql.databases,
        "accounts": _accounts(mysql),
        "binlogs": _binlogs(mysql, binlogs),
        "release_timeout_s": mysql.release_timeout_s,
        "timeout_s": mysql.timeout_s,
    }


def _binlogs(mysql: Mysql, copies: DumpCopies | None) -> BinlogCopies | None:
    if mysql.point_in_time is None or copies is None:
        return None
    return {**copies, "account": point_in_time.ACCOUNT, "interval_s": mysql.point_in_time.interval_s}


def _certificate(mysql: Mysql) -> MysqlCertificate | None:
    given = mysql.tls_certificate
    if given is None:
        return None
    return {"certificate": given.certificate, "key": Later("secret", "mysql.tlsCertificate.key"), "ca": given.ca}


def _accounts(mysql: Mysql) -> list[MysqlAccount]:
    accounts: list[MysqlAccount] = [
        {"name": user.name, "privileges": user.privileges, "database": user.database} for user in mysql.users
    ]
    if mysql.backup is not None:
        accounts.append({"name": BACKUP_ACCOUNT, "privileges": BACKUP_PRIVILEGES, "database": ""})
    if mysql.point_in_time is not None:
        accounts.append({"name": point_in_time.ACCOUNT, "privileges": BINLOG_PRIVILEGES, "database": ""})
    return accounts


def mysql_backup(settings: Settings, mysql: Mysql, copies: DumpCopies | None) -> MysqlBackupArgs | None:
    """Returns the dumps of the server on a volume of their own, where they are wanted."""
    backup = mysql.backup
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
            "service": mysql.job_id,
            "provider": mysql.service_provider,
            "tls": mysql.tls,
            "ca": mysql.authority,
        },
        "account": BACKUP_ACCOUNT,
        "account_password": Later("account_password", BACKUP_ACCOUNT),
        "root_password": Later("root_password"),
        "schedule": {"cron": backup.schedule, "keep": backup.keep},
        "task": {
            "image": mysql.image,
            "user": mysql.user,
            "cpu_mhz": backup.cpu_mhz,
            "memory_mib": backup.memory_mib,
        },
        "s3": copies,
        "release_timeout_s": backup.release_timeout_s,
    }
