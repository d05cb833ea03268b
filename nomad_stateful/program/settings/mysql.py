"""Settings of the MySQL server."""

import re
from collections import Counter
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field, model_validator

from nomad_stateful.program.settings import paths, point_in_time, schedule, server_options, times, variable
from nomad_stateful.program.settings.certificate import TlsCertificate
from nomad_stateful.program.settings.dump_bucket import DumpBucket
from nomad_stateful.program.settings.errors import Refusal
from nomad_stateful.program.settings.mysql_image import MysqlImage
from nomad_stateful.program.settings.point_in_time import PointInTime
from nomad_stateful.program.settings.types import (
    DAY_S,
    DISCONNECT_TIME,
    MOST_CPU_MHZ,
    MOST_MEMORY_MIB,
    MOST_RESTARTS,
    DisconnectTime,
    Duration,
    Identifier,
    PlainText,
    Section,
    ServiceName,
    in_docker,
)

DATABASE_NAME_RULE = "must start with a letter; then letters, digits and _; 63 characters at most"
DatabaseName = Annotated[
    str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]{0,62}$", json_schema_extra={"rule": DATABASE_NAME_RULE})
]
BACKUP_ACCOUNT = "backup"
INIT_FOLDER = "docker-entrypoint-initdb.d"
"""Where the image's entrypoint finds the scripts of a first start."""


# What can be granted on a database; other privileges are the whole server's.
# https://dev.mysql.com/doc/refman/8.4/en/grant.html
DATABASE_PRIVILEGES = frozenset(
    {
        *("ALTER", "ALTER ROUTINE", "CREATE", "CREATE ROUTINE", "CREATE TEMPORARY TABLES", "CREATE VIEW", "DELETE"),
        *("DROP", "EVENT", "EXECUTE", "GRANT OPTION", "INDEX", "INSERT", "LOCK TABLES", "REFERENCES"),
        *("SELECT", "SHOW VIEW", "TRIGGER", "UPDATE", "USAGE"),
    }
)
EVERY_PRIVILEGE = ("ALL", "ALL PRIVILEGES")
SYSTEM_DATABASES = frozenset({"mysql", "sys", "information_schema", "performance_schema"})
Schedule = Annotated[str, AfterValidator(schedule.check)]


class DatabaseUser(Section):
    """An account with a generated password."""

    name: str = Field(
        pattern=r"^[a-z][a-z0-9_]{0,31}$",
        description="Name of the account, which may log in from anywhere.",
        json_schema_extra={"rule": "must start with a letter; then letters, digits and _, all small; 32 at most"},
    )
    database: DatabaseName = Field(description="Database it may use.")
    privileges: str = Field(
        "ALL PRIVILEGES",
        pattern=r"^[A-Z_]+( [A-Z_]+)*(, [A-Z_]+( [A-Z_]+)*)*$",
        description="What it may do there, as in a GRANT.",
        json_schema_extra={"rule": "must be privileges as in a GRANT, such as SELECT, INSERT"},
    )


class MysqlBackup(Section):
    """Periodic dumps to a second volume."""

    volume: Identifier = Field(description="Name of the volume for the dumps.")
    job_id: Identifier = Field(
        "mysql-backup", description="Id of the job that dumps; the job that restores has `-restore` added."
    )
    schedule: Schedule = Field("0 3 * * *", description="When to dump, in cron's notation and UTC.")
    keep: int = Field(7, ge=1, le=1000, description="Dumps that are kept on the volume; older ones are removed.")
    s3: DumpBucket | None = Field(None, description="A copy of each dump in S3; none if left out.")
    cpu_mhz: int = Field(100, ge=20, le=MOST_CPU_MHZ, description="CPU, in MHz.")
    memory_mib: int = Field(256, ge=64, le=MOST_MEMORY_MIB, description="Memory, in MiB.")
    release_timeout_s: int = Field(
        300, ge=10, le=DAY_S, description="How long `destroy` waits for the volume to be released, in seconds."
    )


class Mysql(Section):
    """The MySQL server and the volume it stores its data on."""

    private_fields = frozenset({"init_scripts"})
    earlier: ClassVar = {
        "taskDriver": in_docker(
            "MySQL runs",
            "have the earlier release dump it, and restore the dump into a stack with docker (docs/upgrades.md)",
        )
    }

    job_id: ServiceName = Field("mysql-server", description="Id of the job and name of its service.")
    volume: Identifier = Field(description="Name of the volume that holds the data.")
    port: int = Field(3306, ge=0, le=65535, description="Port on the client; 0 lets Nomad choose one.")
    task_driver: Literal["docker"] = Field("docker", description="How Nomad runs the server: in docker alone.")
    image: MysqlImage = Field("mysql:8.4.6", description="Image with a pinned tag or digest.")
    command: PlainText = Field(
        "",
        description="The image's entrypoint, which makes the data directory and starts the server; "
        "`docker-entrypoint.sh` if left out.",
    )
    user: PlainText = Field("", description="User the container starts as; the image's own if left out.")
    server_uid: int = Field(
        999,
        ge=0,
        le=2_147_483_647,
        description="User id that the server drops to, 999 in the official images; it alone may read its secrets.",
    )
    data_dir: str = Field(
        "/srv/mysql",
        pattern=r"^/[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)+$",
        description="Data directory: a folder inside the mount, since the root of a file system has lost+found.",
        json_schema_extra={"rule": "must be an absolute path with a folder inside the mount, such as /srv/mysql"},
    )
    service_provider: Literal["nomad", "consul"] = Field("nomad", description="Where the service is registered.")
    check_interval: Duration = Field("2s", description="Pause between two checks of the service.")
    check_timeout: Duration = Field("2s", description="How long one check may take.")
    restart_attempts: int = Field(
        10, ge=1, le=MOST_RESTARTS, description="Restarts on the same client within `restartInterval`."
    )
    restart_interval: Duration = Field("5m", description="Window in which restarts are counted.")
    restart_delay: Duration = Field("5s", description="Pause before a restart.")
    kill_timeout: Duration = Field(
        "30s",
        description="Time the server has to shut down; a client cuts it to its `max_kill_timeout`, 30s by default.",
    )
    stop_after_disconnect: DisconnectTime = Field(
        DISCONNECT_TIME,
        description="How long a client that reaches no Nomad server lets MySQL run; then it stops it and unmounts. "
        "When a client is lost, Nomad waits that long and `killTimeout` before it starts another. never: until fenced.",
    )
    server_args: list[PlainText] = Field(
        default=[],
        description="Further arguments for the server, each as `--name=value`. Refused are those that another "
        "setting or the program decides, and places for data outside of the volume.",
    )
    config: dict[str, str | int | bool] = Field(
        default={},
        description="Server options by name, such as `max_connections: 500`, read from a file. Refused is what "
        "`serverArgs` refuses.",
    )
    init_scripts: dict[str, str] = Field(
        default={},
        description="SQL by file name, run in the order of the names when the data directory is made. Nomad templates.",
    )
    tls: Literal["off", "preferred", "required"] = Field(
        "preferred", description="Encrypted connections: off, for clients that want them (preferred), or required."
    )
    tls_certificate: TlsCertificate | None = Field(
        None, description="Certificate; without it the server makes one of its own."
    )
    databases: list[DatabaseName] = Field(
        default=[],
        description="Databases that are made when they are missing.",
        json_schema_extra={"rule": DATABASE_NAME_RULE},
    )
    users: list[DatabaseUser] = Field(
        default=[], description="Accounts that are made, each time the server starts, with generated passwords."
    )
    backup: MysqlBackup | None = Field(None, description="Periodic dumps to a second volume; none if left out.")
    point_in_time: PointInTime | None = Field(
        None,
        description="Copies of the binary logs in S3, from which `nomad-stateful restore --to` goes to any moment; "
        "with MySQL alone, which then runs with GTIDs. None if left out.",
    )
    cpu_mhz: int = Field(500, ge=20, le=MOST_CPU_MHZ, description="CPU, in MHz.")
    memory_mib: int = Field(1024, ge=128, le=MOST_MEMORY_MIB, description="Memory, in MiB.")
    release_timeout_s: int = Field(
        300, ge=10, le=DAY_S, description="How long `destroy` waits for the volume to be released, in seconds."
    )
    timeout_s: int = Field(
        300, ge=10, le=DAY_S, description="How long `up` waits for the server to answer, in seconds."
    )

    @property
    def entrypoint(self) -> str:
        """What makes the data directory and starts the server."""
        return self.command or "docker-entrypoint.sh"

    @property
    def authority(self) -> str:
        """The certificate by which clients verify the server; empty where none was given."""
        return (self.tls_certificate.ca or "") if self.tls_certificate is not None else ""

    @property
    def mount_path(self) -> str:
        """Where the volume is mounted in the task."""
        return "/" + self.data_dir.split("/")[1]

    @property
    def options(self) -> dict[str, str]:
        """The server's options as they stand in its file."""
        return {name: _written(value) for name, value in self.config.items()}

    @property
    def backup_job_ids(self) -> list[str]:
        """Ids of the jobs that dump and restore."""
        return [] if self.backup is None else [self.backup.job_id, f"{self.backup.job_id}-restore"]

    @model_validator(mode="after")
    def _check(self) -> "Mysql":
        _check_data_dir(self)
        times.check_restart(self.restart_attempts, self.restart_interval, self.restart_delay)
        times.check_checks(self.check_interval, self.check_timeout)
        times.check_kill_timeout(self.kill_timeout, self.timeout_s)
        _check_options(self)
        _check_databases(self)
        _check_init_scripts(self)
        _check_users(self)
        if self.tls_certificate is not None:
            items = {key: value or "" for key, value in self.tls_certificate.model_dump().items()}
            # Beside the passwords of root and the accounts.
            others = {f"password_{user.name}": "x" * 32 for user in self.users}
            items |= others | {"root_password": "x" * 32}
            variable.check("tlsCertificate", items, "leave out what is not needed")
        if self.tls_certificate is not None and self.tls == "off":
            raise Refusal("tls", "off", "there is a tlsCertificate", "remove one of the two")
        return self


def _written(value: str | int | bool) -> str:
    return ("ON" if value else "OFF") if isinstance(value, bool) else str(value)


def _check_options(mysql: Mysql) -> None:
    for index, argument in enumerate(mysql.server_args):
        server_options.check_argument(f"serverArgs.{index}", argument, mysql.mount_path)
    for name, value in mysql.config.items():
        server_options.check_option(f"config.{name}", name, _written(value), mysql.mount_path)
    if mysql.point_in_time is not None:
        point_in_time.check_options(mysql.options, mysql.server_args)


def _check_data_dir(mysql: Mysql) -> None:
    paths.check_plain("dataDir", mysql.data_dir)
    folder = paths.covers(mysql.mount_path, (*paths.SYSTEM_FOLDERS, f"/{INIT_FOLDER}"))
    if folder:
        raise Refusal(
            "dataDir",
            mysql.data_dir,
            f"the volume would be mounted over {folder}, which the server needs as it is",
            "use a folder of its own, such as /srv/mysql",
        )


def _check_init_scripts(mysql: Mysql) -> None:
    for name, text in mysql.init_scripts.items():
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*\.sql", name):
            raise Refusal(
                "initScripts", name, "must be a file name that ends in .sql", "rename it, as in 10-schema.sql"
            )
        if not text:
            raise Refusal(f"initScripts.{name}", text, "Nomad takes no template without text", "write it, or remove it")


def _check_databases(mysql: Mysql) -> None:
    for name, count in Counter(mysql.databases).items():
        if name.lower() in SYSTEM_DATABASES:
            raise Refusal("databases", name, "this database is reserved by the server", "name another")
        if count > 1:
            raise Refusal("databases", name, f"it is listed {count} times", "list it once")


def _check_users(mysql: Mysql) -> None:
    for name, count in Counter(user.name for user in mysql.users).items():
        if count > 1:
            raise Refusal("users", name, f"{count} users have this name", "give each a name of its own")
    for user in mysql.users:
        if user.name in ("root", "mysql", BACKUP_ACCOUNT, point_in_time.ACCOUNT):
            raise Refusal(f"users.{user.name}.name", user.name, "this account is reserved", "rename it")
        unknown = sorted(set(user.privileges.split(", ")) - DATABASE_PRIVILEGES)
        if unknown and user.privileges not in EVERY_PRIVILEGE:
            raise Refusal(
                f"users.{user.name}.privileges",
                user.privileges,
                f"{unknown[0]} is not a privilege on a database that can be listed",
                "name privileges of a database, such as SELECT, INSERT, or ALL PRIVILEGES alone",
            )
        if user.database not in mysql.databases:
            raise Refusal(
                f"users.{user.name}.database", user.database, "it is not among databases", "add it there, or correct it"
            )
