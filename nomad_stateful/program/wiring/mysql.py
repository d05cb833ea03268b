"""From settings to the MySQL server and its dumps."""

import pulumi

from nomad_stateful.components.csi_registration import RegisteredCsiVolume
from nomad_stateful.components.mysql import BinlogCopies, MysqlAccount, MysqlCertificate, MysqlServer, MysqlServerArgs
from nomad_stateful.components.mysql_backup import DumpCopies, MysqlBackupArgs
from nomad_stateful.program.environment import Environment
from nomad_stateful.program.settings import Mysql, Settings, point_in_time
from nomad_stateful.program.settings.mysql import BACKUP_ACCOUNT
from nomad_stateful.program.wiring.jobs import own_time, owner, placement, registered_volume, restart, same

# The least with which every database can be read for a dump.
BACKUP_PRIVILEGES = "SELECT, SHOW VIEW, TRIGGER, EVENT"
# The least with which a binary log can be closed.
BINLOG_PRIVILEGES = "RELOAD"


def mysql_server(
    settings: Settings,
    environment: Environment,
    mysql: Mysql,
    volume: RegisteredCsiVolume,
    *,
    binlogs: DumpCopies | None = None,
) -> MysqlServerArgs:
    """Returns the MySQL server on its registered volume."""
    return {
        "job_id": mysql.job_id,
        "owner": owner(environment),
        "placement": placement(settings),
        "volume": registered_volume(settings, environment, mysql.volume, volume),
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
    return {"certificate": given.certificate, "key": pulumi.Output.secret(given.key), "ca": given.ca}


def _accounts(mysql: Mysql) -> list[MysqlAccount]:
    accounts = [same(MysqlAccount, user) for user in mysql.users]
    if mysql.backup is not None:
        accounts.append({"name": BACKUP_ACCOUNT, "privileges": BACKUP_PRIVILEGES, "database": ""})
    if mysql.point_in_time is not None:
        accounts.append({"name": point_in_time.ACCOUNT, "privileges": BINLOG_PRIVILEGES, "database": ""})
    return accounts


def mysql_backups(
    settings: Settings,
    environment: Environment,
    mysql: Mysql,
    server: MysqlServer,
    registered: dict[str, RegisteredCsiVolume],
    *,
    copies: DumpCopies | None = None,
) -> list[MysqlBackupArgs]:
    """Returns the dumps of the server on a volume of their own, where they are wanted."""
    backup = mysql.backup
    if backup is None:
        return []
    args: MysqlBackupArgs = {
        "job_id": backup.job_id,
        "owner": owner(environment),
        "placement": placement(settings),
        "volume": registered_volume(settings, environment, backup.volume, registered[backup.volume]),
        "access_mode": settings.volume(backup.volume).access_mode,
        "mount_path": "/dumps",
        "server": {
            "service": mysql.job_id,
            "provider": mysql.service_provider,
            "tls": mysql.tls,
            "ca": mysql.authority,
        },
        "account": BACKUP_ACCOUNT,
        "account_password": server.account_passwords[BACKUP_ACCOUNT],
        "root_password": server.password,
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
    return [args]
