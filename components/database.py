"""A database server on a CSI volume."""

from typing import ClassVar, NotRequired, TypedDict

import pulumi

from nomad_stateful.components import job_variables
from nomad_stateful.components.account import account_of, in_account
from nomad_stateful.components.component_type import Component
from nomad_stateful.components.consumer import Consumer, RegisteredVolume
from nomad_stateful.components.ownership import Owner
from nomad_stateful.components.placement import JobPlacement
from nomad_stateful.components.restart import JobRestart
from nomad_stateful.databases.model import Database
from nomad_stateful.sdk import GeneratedSecret, VolumeRelease, get_service_output


class DatabaseTask(TypedDict):
    """How the server runs."""

    image: str
    """Image with its tag."""
    command: str
    """The image's entrypoint."""
    user: str
    """User the container starts as; empty is the image's own."""
    uid: int
    """User id that the server drops to: it alone may read the server's secrets."""
    args: list[str]
    """Further arguments for the server."""
    kill_timeout: str
    """Time the server has to shut down cleanly, such as 60s."""
    cpu_mhz: int
    """CPU in MHz."""
    memory_mib: int
    """Memory in MiB."""


class DatabaseService(TypedDict):
    """Where the service is registered, and its check."""

    provider: str
    """nomad or consul."""
    check_interval: str
    """Pause between two checks."""
    check_timeout: str
    """How long one check may take."""


class DatabaseCertificate(TypedDict):
    """A certificate that is not the server's own making, in PEM."""

    certificate: pulumi.Input[str]
    """The server's certificate, followed by those that lead to the authority's."""
    key: pulumi.Input[str]
    """Its private key (secret)."""
    ca: NotRequired[pulumi.Input[str] | None]
    """The authority's certificate."""


class DatabaseTls(TypedDict):
    """Whether and how connections are encrypted."""

    mode: str
    """off, preferred (for clients that want it) or required."""
    certificate: NotRequired[DatabaseCertificate | None]
    """Certificate; without it the server makes one of its own."""


class DatabaseAccount(TypedDict):
    """An account with a generated password."""

    name: str
    """Name; it may log in from anywhere."""
    privileges: str
    """Privileges as in a GRANT, such as SELECT, INSERT."""
    database: str
    """Database they are for; empty is all of them."""


class LogCopies(TypedDict):
    """Where in S3 the server's logs are copied to, and how often."""

    bucket: pulumi.Input[str]
    """Name of the bucket."""
    prefix: str
    """What the keys start with, up to and with a slash; the logs are below binlogs/ of it."""
    region: str
    """Region of the bucket."""
    endpoint: str
    """Where S3 is reached; empty for the region's own."""
    image: str
    """Image of the agent."""
    memory_mib: int
    """Memory of the agent, in MiB."""
    account: str
    """The account that closes a log; it is among the accounts."""
    interval_s: int
    """How often a log is closed and copied, in seconds."""


class DatabaseServerArgs(TypedDict):
    """Inputs of a database's server."""

    job_id: str
    """Id of the job and name of its service."""
    placement: JobPlacement
    """Where the job may run."""
    owner: NotRequired[Owner | None]
    """Whose the job is: claimed before anything is made under its id."""
    volume: RegisteredVolume
    """The volume that holds the data."""
    access_mode: str
    """Access mode of the volume, such as single-node-writer."""
    mount_path: str
    """Where the volume is mounted in the task."""
    data_dir: str
    """Data directory, a folder inside the mount."""
    port: int
    """Port on the client; 0 lets Nomad choose one."""
    task: DatabaseTask
    """How the server runs."""
    service: DatabaseService
    """Where the service is registered."""
    restart: JobRestart
    """Restarts on the same client."""
    stop_after_disconnect: NotRequired[str | None]
    """How long a client that reaches no Nomad server lets the server run, such as 2m; without it, for ever."""
    config: dict[str, str]
    """Server options by name, read from a file; values are Nomad templates."""
    init_scripts: dict[str, str]
    """SQL by file name, run in the order of the names when the data directory is made."""
    tls: DatabaseTls
    """Whether and how connections are encrypted."""
    databases: list[str]
    """Databases that are made when they are missing."""
    accounts: list[DatabaseAccount]
    """Accounts that are made, each time the server starts."""
    binlogs: NotRequired[LogCopies | None]
    """Where the server's logs are copied to, of a database that has some (MySQL 8.0 or newer); nowhere if left out."""
    release_timeout_s: int
    """How long a destroy waits for the volume to be released, in seconds."""
    timeout_s: int
    """How long to wait for the server to answer, in seconds."""


class DatabaseServer(Component):
    """A single server whose rows outlive the job, on the volume; databases.py makes that of each database."""

    _database: ClassVar[Database]
    _type_name: ClassVar[str]

    host: pulumi.Output[str]
    """Address of the client the server runs on."""
    port: pulumi.Output[int]
    """Port of the server."""
    allocation_id: pulumi.Output[str]
    """Allocation that runs the server."""
    password: pulumi.Output[str]
    """Password of the superuser (secret)."""
    account_passwords: pulumi.Output[dict[str, str]]
    """Passwords of the accounts, by name (secret)."""

    def __init__(self, name: str, args: DatabaseServerArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        opts = in_account(type(self).__name__, name, account_of([args["volume"]]), opts)
        super().__init__(self._type_name, name, opts)
        kind = self._database
        own = Consumer(name, args["job_id"], args["placement"], self, args.get("owner"))
        password = GeneratedSecret(f"{name}-password", length=32, opts=pulumi.ResourceOptions(parent=self))
        drawn = {account["name"]: self._drawn(name, account["name"]) for account in args["accounts"]}
        passwords = pulumi.Output.all(*drawn.values()).apply(lambda known: dict(zip(drawn, known, strict=True)))
        self.account_passwords = pulumi.Output.secret(passwords)
        change = own.change("database", job_variables.database(kind, args))
        release = own.only_gate(args["volume"], args["release_timeout_s"], change=change)
        variable = own.variable(_secrets(args, password.result, drawn), [release])
        job = own.job("database", _variables(kind, args, release), depends_on=[variable], purged_by_gate=True)
        health = own.health(job, kind.name, args["timeout_s"])
        service = get_service_output(
            # Of the allocation, so that nothing is asked before there is one.
            job_id=pulumi.Output.all(health.job_id, health.allocation_id).apply(lambda known: str(known[0])),
            namespace=args["placement"]["namespace"],
            group=kind.name,
            port_label="db",
            parent=self,
        )
        self.host = service.apply(lambda known: known.host)
        self.port = service.apply(lambda known: known.port)
        self.allocation_id = service.apply(lambda known: known.allocation_id)
        self.password = password.result
        self.register_outputs({"host": self.host, "port": self.port, "password": self.password})

    def _drawn(self, name: str, account: str) -> pulumi.Output[str]:
        options = pulumi.ResourceOptions(parent=self)
        return GeneratedSecret(f"{name}-password-{account}", length=32, opts=options).result


def _secrets(
    args: DatabaseServerArgs, root: pulumi.Output[str], drawn: dict[str, pulumi.Output[str]]
) -> dict[str, pulumi.Input[str]]:
    accounts = {f"password_{account}": password for account, password in drawn.items()}
    certificate = args["tls"]["certificate"]
    if certificate is None:
        return {"root_password": root, **accounts}
    given = {"tls_certificate": certificate["certificate"], "tls_key": certificate["key"]}
    authority = {} if certificate["ca"] is None else {"tls_ca": certificate["ca"]}
    return {"root_password": root, **accounts, **given, **authority}


def _variables(kind: Database, args: DatabaseServerArgs, release: VolumeRelease) -> dict[str, object]:
    settings = job_variables.database(kind, args)
    volume = {"id": release.volume_id, "release": Consumer.generation(release, args["volume"]), **settings["volume"]}
    return {**settings, "volume": volume}
