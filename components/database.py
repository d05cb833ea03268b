"""A database server on a CSI volume."""

import hashlib
from typing import ClassVar, NotRequired, TypedDict

import pulumi

from nomad_stateful.components import job_variables
from nomad_stateful.components.account import account_of, in_account
from nomad_stateful.components.component_type import Component, component_type, database_type
from nomad_stateful.components.consumer import Consumer, Former, RegisteredVolume
from nomad_stateful.components.ownership import Owner
from nomad_stateful.components.placement import JobPlacement
from nomad_stateful.components.restart import JobRestart
from nomad_stateful.databases.model import Database
from nomad_stateful.sdk import GeneratedSecret, ReplicationGroup, VolumeRelease, get_service_output


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


class DatabaseMember(TypedDict):
    """What a server is that is one of a replication group."""

    group_id: pulumi.Input[str]
    """The group's id, a UUID."""
    first: pulumi.Input[str]
    """Name of the member that begins the group."""
    members: list[str]
    """Names of all members: each is the id of a member's job."""
    port: int
    """Port of each member, on its client."""
    message_cache_mib: int
    """Messages that a member keeps for others, in MiB."""
    image: str
    """Image of the agent."""
    agent_port: int
    """Port where the agent says what the member is."""
    agent_memory_mib: int
    """Memory of the agent, in MiB."""


class DatabasePasswords(TypedDict):
    """Passwords that are not the component's own."""

    root: pulumi.Input[str]
    """The superuser's (secret)."""
    accounts: dict[str, pulumi.Input[str]]
    """By account (secret)."""


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
    member: NotRequired[DatabaseMember | None]
    """The group that it is a member of; a single server if left out."""
    serving: NotRequired[list[str]]
    """Of a member: jobs that serve before it does. While there is none of them it has to run, and not to answer."""
    former_members: NotRequired[list[str]]
    """Of a single server that takes the place of a group: the jobs of its members, the first with this volume."""
    passwords: NotRequired[DatabasePasswords | None]
    """Passwords that it has in common with others; of its own if left out."""
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
        kind, members = self._database, args.get("former_members")
        former = pulumi.ResourceOptions(aliases=[pulumi.Alias(type_=self._group_type)] if members else None)
        super().__init__(self._type_name, name, pulumi.ResourceOptions.merge(opts, former))
        own = Consumer(name, args["job_id"], args["placement"], self, args.get("owner"))
        group = pulumi.create_urn(name, self._group_type, (opts and opts.parent) or None) if members else None
        passwords = args.get("passwords") or drawn_passwords(name, kind, args, self, group)
        self.account_passwords = by_account(passwords)
        # A member's server reads its certificate when it starts.
        given = args["tls"]["certificate"] if args.get("member") else None
        certificate = {} if given is None else {"certificate": _digest(given)}
        change = own.change("database", {**job_variables.database(kind, args), **certificate})
        # The gate of its volume, for what comes after it; no output, since those have types of the schema.
        self.release = release = own.only_gate(
            args["volume"],
            args["release_timeout_s"],
            change=change,
            former=self._former(name, args, members, group) if members and group else None,
        )
        variable = own.variable(_secrets(args, passwords), [release])
        job = own.job("database", _variables(kind, args, release), depends_on=[variable], purged_by_gate=True)
        health = own.health(job, kind.name, args["timeout_s"], serving=args.get("serving") or ())
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
        self.password = pulumi.Output.secret(passwords["root"])
        self.register_outputs({"host": self.host, "port": self.port, "password": self.password})

    @property
    def _group_type(self) -> str:
        return component_type(database_type(self._database.name, "Group"))

    def _former(self, name: str, args: DatabaseServerArgs, members: list[str], group: pulumi.Output[str]) -> Former:
        """Returns the member of a group whose place the server takes, after the group was dissolved.

        What was the group's is found by the group's own URN: where an `up` to it ended halfway, the state has a server
        of this name too, and nothing is inherited from what it is an alias of.
        """
        dissolved = ReplicationGroup(
            f"{name}-group",
            job_id=args["job_id"],
            namespace=args["placement"]["namespace"],
            candidate=members[0],
            dissolved=True,
            others=members[1:],
            member_group=self._database.name,
            timeout_s=args["timeout_s"],
            opts=pulumi.ResourceOptions(parent=self, aliases=[pulumi.Alias(parent=group)]),
        )
        return Former(members[0], pulumi.create_urn(members[0], component_type(self._type_name), group), dissolved)


def drawn_passwords(
    name: str,
    database: Database,
    args: DatabaseServerArgs,
    parent: pulumi.Resource,
    earlier: pulumi.Input[str] | None = None,
) -> DatabasePasswords:
    """Returns generated passwords of the superuser, of the accounts, and of a group's.

    `earlier` is the component that had them before, by its URN.
    """
    aliases = None if earlier is None else [pulumi.Alias(parent=earlier)]
    options = pulumi.ResourceOptions(parent=parent, aliases=aliases)
    accounts = [account["name"] for account in args["accounts"]]
    if args.get("member") and database.group:
        accounts.append(database.group.account.name)
    return {
        "root": GeneratedSecret(f"{name}-password", length=32, opts=options).result,
        "accounts": {
            account: GeneratedSecret(f"{name}-password-{account}", length=32, opts=options).result
            for account in accounts
        },
    }


def by_account(passwords: DatabasePasswords) -> pulumi.Output[dict[str, str]]:
    """Returns the passwords of the accounts, by name (secret)."""
    return pulumi.Output.secret(pulumi.Output.all(**passwords["accounts"]))


def _secrets(args: DatabaseServerArgs, passwords: DatabasePasswords) -> dict[str, pulumi.Input[str]]:
    accounts = {f"password_{account}": password for account, password in passwords["accounts"].items()}
    certificate = args["tls"]["certificate"]
    if certificate is None:
        return {"root_password": passwords["root"], **accounts}
    given = {"tls_certificate": certificate["certificate"], "tls_key": certificate["key"]}
    authority = {} if certificate["ca"] is None else {"tls_ca": certificate["ca"]}
    return {"root_password": passwords["root"], **accounts, **given, **authority}


def _variables(kind: Database, args: DatabaseServerArgs, release: VolumeRelease) -> dict[str, object]:
    settings = job_variables.database(kind, args)
    volume = {"id": release.volume_id, "release": Consumer.generation(release, args["volume"]), **settings["volume"]}
    own = {**settings, "volume": volume}
    if member := args.get("member"):
        decided = {"id": member["group_id"], "first": member["first"]}
        own["group"] = pulumi.Output.all(
            **{**settings["group"], **decided, "certificate": _digest(args["tls"]["certificate"])}
        )
    return own


def _digest(certificate: DatabaseCertificate | None) -> pulumi.Output[str]:
    """Tells one certificate, with its authority, from another; empty without one. Another key has another one."""
    if certificate is None:
        return pulumi.Output.from_input("")
    texts = pulumi.Output.all(certificate["certificate"], certificate.get("ca"))
    return pulumi.Output.unsecret(texts.apply(lambda known: hashlib.sha256(repr(known).encode()).hexdigest()[:16]))
