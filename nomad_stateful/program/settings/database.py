"""Settings of a database server: what those of every database are."""

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field, model_validator

from nomad_stateful.databases.model import Database
from nomad_stateful.program.settings import database_rules, group, schedule, times
from nomad_stateful.program.settings.certificate import TlsCertificate
from nomad_stateful.program.settings.dump_bucket import DumpBucket, PointInTime
from nomad_stateful.program.settings.errors import Refusal
from nomad_stateful.program.settings.group import ReplicationGroup
from nomad_stateful.program.settings.types import (
    DAY_S,
    DISCONNECT_TIME,
    MOST_CPU_MHZ,
    MOST_MEMORY_MIB,
    MOST_RESTARTS,
    DisconnectTime,
    Duration,
    Identifier,
    PinnedImage,
    PlainText,
    Section,
    ServiceName,
)

DATABASE_NAME_RULE = "must start with a letter; then letters, digits and _; 63 characters at most"
DatabaseName = Annotated[
    str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]{0,62}$", json_schema_extra={"rule": DATABASE_NAME_RULE})
]
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
        description="Its privileges there, as in a GRANT.",
        json_schema_extra={"rule": "must be privileges as in a GRANT, such as SELECT, INSERT"},
    )


class DatabaseBackup(Section):
    """Periodic dumps to a second volume."""

    volume: Identifier = Field(description="Name of the volume for the dumps.")
    job_id: Identifier = Field(
        "backup", description="Id of the job that dumps; the job that restores has `-restore` added."
    )
    schedule: Schedule = Field("0 3 * * *", description="When to dump: a cron expression in UTC.")
    keep: int = Field(7, ge=1, le=1000, description="Dumps that are kept on the volume; older ones are removed.")
    s3: DumpBucket | None = Field(None, description="A copy of each dump in S3; none if left out.")
    cpu_mhz: int = Field(100, ge=20, le=MOST_CPU_MHZ, description="CPU, in MHz.")
    memory_mib: int = Field(256, ge=64, le=MOST_MEMORY_MIB, description="Memory, in MiB.")
    release_timeout_s: int = Field(
        300, ge=10, le=DAY_S, description="How long `destroy` waits for the volume to be released, in seconds."
    )


class DatabaseSection(Section):
    """A database server and the volume it stores its data on; sections.py makes that of each database of it."""

    private_fields = frozenset({"init_scripts"})
    kind: ClassVar[Database]
    """Which database it is."""

    job_id: ServiceName = Field(
        "server",
        description="Id of the job and name of its service; of a `group` 56 characters at most, since others are made "
        "of it.",
    )
    volume: Identifier = Field(description="Name of the volume that holds the data.")
    port: int = Field(0, ge=0, le=65535, description="Port on the client; 0 lets Nomad choose one.")
    task_driver: Literal["docker"] = Field("docker", description="Nomad's task driver: only docker.")
    image: PinnedImage = Field("", description="Image with a pinned tag or digest.")
    command: PlainText = Field(
        "",
        description="The image's entrypoint, which makes the data directory and starts the server; "
        "`docker-entrypoint.sh` if left out.",
    )
    user: PlainText = Field("", description="User the container starts as; the image's own if left out.")
    server_uid: int = Field(
        0,
        ge=0,
        le=2_147_483_647,
        description="User id that the server drops to, as in the official images; it alone may read its secrets.",
    )
    data_dir: str = Field(
        "",
        pattern=r"^/[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)+$",
        description="Data directory: a folder inside the mount, since the root of a file system has lost+found.",
        json_schema_extra={"rule": "must be an absolute path with a folder inside the mount, such as /srv/data"},
    )
    service_provider: Literal["nomad", "consul"] = Field("nomad", description="Service registry: nomad or consul.")
    check_interval: Duration = Field("2s", description="Pause between two checks of the service.")
    check_timeout: Duration = Field("2s", description="How long one check may take.")
    restart_attempts: int = Field(
        10, ge=1, le=MOST_RESTARTS, description="Restarts on the same client within `restartInterval`."
    )
    restart_interval: Duration = Field("5m", description="Window in which restarts are counted.")
    restart_delay: Duration = Field("5s", description="Pause before a restart.")
    kill_timeout: Duration = Field(
        "30s",
        description="Time the server has to shut down; a client cuts it to its `max_kill_timeout`, 30s by default. "
        "Of a `group` 30s or more: a member hands the primary over first.",
    )
    stop_after_disconnect: DisconnectTime = Field(
        DISCONNECT_TIME,
        description="How long a client that reaches no Nomad server lets it run; then it stops it and unmounts. "
        "When a client is lost, Nomad waits that long and `killTimeout` before it starts another. never: until fenced. "
        "Of a `group`'s members never if left out: Nomad waits 5 minutes for their client.",
    )
    server_args: list[PlainText] = Field(
        default=[],
        description="Further arguments for the server, each as `--name=value`. Refused: arguments that another "
        "setting or the program sets, and paths for data outside the volume.",
    )
    config: dict[str, str | int | bool] = Field(
        default={},
        description="Server options by name, such as `max_connections: 500`, read from a file. What `serverArgs` "
        "refuses is refused here too.",
    )
    init_scripts: dict[str, str] = Field(
        default={},
        description="SQL by file name, run in the order of the names when the data directory is made. Nomad templates.",
    )
    tls: Literal["off", "preferred", "required"] = Field(
        "preferred", description="Encrypted connections: off, for clients that want them (preferred), or required."
    )
    tls_certificate: TlsCertificate | None = Field(
        None, description="A certificate you provide; without it the server makes its own."
    )
    databases: list[DatabaseName] = Field(
        default=[],
        description="Databases that are created when they are missing.",
        json_schema_extra={"rule": DATABASE_NAME_RULE},
    )
    users: list[DatabaseUser] = Field(
        default=[], description="Accounts with generated passwords, created at each start of the server."
    )
    backup: DatabaseBackup | None = Field(None, description="Periodic dumps to a second volume; none if left out.")
    cpu_mhz: int = Field(500, ge=20, le=MOST_CPU_MHZ, description="CPU, in MHz.")
    memory_mib: int = Field(
        1024,
        ge=128,
        le=MOST_MEMORY_MIB,
        description="Memory, in MiB. Of a `group`'s members 1408 and `group.messageCacheMib` if left out.",
    )
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
        return {name: database_rules.written(value) for name, value in self.config.items()}

    @property
    def logs(self) -> PointInTime | None:
        """Where the server's logs are copied to; None where they are not."""
        return None

    @property
    def replication(self) -> ReplicationGroup | None:
        """The group that the server is, of a database that has groups; None for a single server."""
        group: ReplicationGroup | None = getattr(self, "group", None)
        return group

    @property
    def disconnect_time(self) -> str:
        """How long a client that reaches no Nomad server lets the server run, or never."""
        is_set = self.replication is None or "stop_after_disconnect" in self.model_fields_set
        return self.stop_after_disconnect if is_set else "never"

    @property
    def server_memory_mib(self) -> int:
        """Memory of each server, in MiB."""
        if self.replication is None or "memory_mib" in self.model_fields_set:
            return self.memory_mib
        return group.member_memory_mib(self.replication)

    @property
    def job_ids(self) -> list[str]:
        """Ids of the server's jobs: of a group each member's, and the routers'."""
        if self.replication is None:
            return [self.job_id]
        return [*group.member_names(self.job_id), group.router_name(self.job_id)]

    @property
    def former_job_ids(self) -> list[str]:
        """Ids that tell whether it runs as the other thing yet: a single server, or a group."""
        if self.kind.group is None:
            return []
        if self.replication is not None:
            return [self.job_id]
        return [group.member_names(self.job_id)[0], group.router_name(self.job_id)]

    @property
    def backup_job_ids(self) -> list[str]:
        """Ids of the jobs that dump and restore."""
        return [] if self.backup is None else [self.backup.job_id, f"{self.backup.job_id}-restore"]

    @model_validator(mode="after")
    def _check(self) -> "DatabaseSection":
        if problem := self.kind.image_problem(self.image):
            raise Refusal("image", self.image, problem.rule, problem.remedy)
        times.check_restart(self.restart_attempts, self.restart_interval, self.restart_delay)
        times.check_checks(self.check_interval, self.check_timeout)
        times.check_kill_timeout(self.kill_timeout, self.timeout_s)
        database_rules.check(self)
        if self.replication is not None:
            group.check(self, self.replication)
        return self


class LoggedSection(DatabaseSection):
    """That of a database whose logs can be copied."""

    point_in_time: PointInTime | None = Field(
        None,
        description="Copies of the binary logs in S3, from which `nomad-stateful restore --to` goes to any moment; "
        "the server then runs with GTIDs. None if left out.",
    )

    @property
    def logs(self) -> PointInTime | None:
        """Where the server's logs are copied to; None where they are not."""
        return self.point_in_time
