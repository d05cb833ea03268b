"""Periodic dumps of a database server to a second CSI volume, and the way back."""

from typing import ClassVar, NotRequired, TypedDict

import pulumi

from nomad_stateful.components import job_variables
from nomad_stateful.components.account import account_of, in_account
from nomad_stateful.components.component_type import Component
from nomad_stateful.components.consumer import Consumer, RegisteredVolume
from nomad_stateful.components.ownership import Owner
from nomad_stateful.components.placement import JobPlacement
from nomad_stateful.databases.model import Database


class BackupTask(TypedDict):
    """How the database's client runs."""

    image: str
    """Image with the client and the dump program."""
    user: str
    """User the container starts as; empty is the image's own."""
    cpu_mhz: int
    """CPU in MHz."""
    memory_mib: int
    """Memory in MiB."""


class BackedUpServer(TypedDict):
    """The server that is dumped."""

    service: str
    """Name of its service."""
    read_service: NotRequired[str]
    """Name of the service that dumps read from; the server's own if left out."""
    on_every_client: NotRequired[bool]
    """Whether each client has an instance of the service, of which a job asks its own's; false if left out."""
    provider: str
    """Where the service is registered: nomad or consul."""
    tls: str
    """off, preferred or required."""
    ca: NotRequired[str]
    """The authority's certificate in PEM, by which the clients verify the server; nothing is verified if left out."""


class BackupSchedule(TypedDict):
    """When to dump and what to keep."""

    cron: str
    """Cron's notation, in UTC."""
    keep: int
    """Dumps that are kept."""


class DumpCopies(TypedDict):
    """Where in S3 each dump is copied to."""

    bucket: pulumi.Input[str]
    """Name of the bucket."""
    prefix: str
    """What the dumps' keys start with, up to and with a slash."""
    region: str
    """Region of the bucket."""
    endpoint: str
    """Where S3 is reached; empty for the region's own."""
    image: str
    """Image of the agent."""
    memory_mib: int
    """Memory of the agent, in MiB."""


class DatabaseBackupArgs(TypedDict):
    """Inputs of a database's dumps."""

    job_id: str
    """Id of the job that dumps; the job that restores has -restore added."""
    placement: JobPlacement
    """Where the jobs may run."""
    owner: NotRequired[Owner | None]
    """Whose the jobs are: claimed before anything is made under their id."""
    volume: RegisteredVolume
    """The volume for the dumps."""
    access_mode: str
    """Access mode of the volume."""
    mount_path: str
    """Where the volume is mounted in the task."""
    server: BackedUpServer
    """The server."""
    account: str
    """Account that may read every database."""
    account_password: pulumi.Input[str]
    """Its password (secret)."""
    root_password: pulumi.Input[str]
    """Password of the superuser, for a restore (secret)."""
    schedule: BackupSchedule
    """When to dump and what to keep."""
    task: BackupTask
    """How the client runs."""
    s3: NotRequired[DumpCopies | None]
    """Where each dump is copied to; nowhere if left out."""
    release_timeout_s: int
    """How long a destroy waits for the volume to be released, in seconds."""


class DatabaseBackup(Component):
    """A periodic job that dumps all databases, also to S3, and one that restores a dump when it is dispatched."""

    _database: ClassVar[Database]
    _type_name: ClassVar[str]

    job_id: pulumi.Output[str]
    """Id of the job that dumps."""
    restore_job_id: pulumi.Output[str]
    """Id of the job that restores."""

    def __init__(self, name: str, args: DatabaseBackupArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        opts = in_account(type(self).__name__, name, account_of([args["volume"]]), opts)
        super().__init__(self._type_name, name, opts)
        owner = args.get("owner")
        dump = Consumer(name, args["job_id"], args["placement"], self, owner)
        # With a variable of its own: the job that dumps every night never sees the superuser's password.
        restore = Consumer(f"{name}-restore", f"{args['job_id']}-restore", args["placement"], self, owner)
        gate = dump.only_gate(args["volume"], args["release_timeout_s"])
        volume = job_variables.dump_volume(args, gate.volume_id, dump.generation(gate, args["volume"]))
        dumped = dump.job(
            "dump",
            job_variables.dump(self._database, args, volume),
            depends_on=[dump.variable({"password": args["account_password"]}, [gate])],
        )
        restored = restore.job(
            "restore",
            job_variables.restore(self._database, args, volume),
            depends_on=[restore.variable({"password": args["root_password"]}, [gate])],
        )
        self.job_id = dumped.name
        self.restore_job_id = restored.name
        self.register_outputs({"job_id": self.job_id, "restore_job_id": self.restore_job_id})
