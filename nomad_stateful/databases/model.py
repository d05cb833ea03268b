"""A database as data: what settings, plan, jobs and commands have to know of one."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from nomad_stateful.databases.server import ServerSettings, ServerTask

_TAG = re.compile(r"(?P<name>[^@]+):(?P<version>\d+(\.\d+){0,2})(?![\d.])[\w.-]*(@.*)?")
# Of several instances of a service that of the allocation's own client, else the first.
_OF_OWN_CLIENT = (
    "{{ $at := index . 0 }}"
    '{{ range . }}{{ if eq .Address (env "attr.unique.network.ip-address") }}{{ $at = . }}{{ end }}{{ end }}'
    "{{ with $at }}"
)


@dataclass(frozen=True)
class Problem:
    """What is wrong with a value, and what to do."""

    rule: str
    remedy: str


class ServerOptions(Protocol):
    """Which options of the server a person may set."""

    def argument(self, argument: str, mount_path: str) -> Problem | None:
        """Returns what is wrong with a further argument of the server."""

    def option(self, name: str, value: str, mount_path: str) -> Problem | None:
        """Returns what is wrong with an option of the server's file."""

    def text(self, value: str) -> str:
        """Returns a value as the server's file has it; templates in it are left alone."""


@dataclass(frozen=True)
class Account:
    """An account that the program makes for itself."""

    name: str
    privileges: str
    """As the job's script that makes accounts reads them."""


@dataclass(frozen=True)
class Replication:
    """Servers that are one group, with one that writes."""

    account: Account
    """By which members copy from each other, and ask each other."""
    parent: str
    """The script in jobs/NAME/ that is the parent process of a member's server."""
    least_version: tuple[int, int]
    """Major and minor number of the first server that can be a member."""
    option_problem: Callable[[str, str], Problem | None]
    """Returns why a member could not replicate, or could lose transactions, with an option and its value."""
    further_mib: Callable[[Iterable[tuple[str, str]]], int]
    """Returns how much more memory options with their values have a server take than by default, in MiB."""


@dataclass(frozen=True)
class Logs:
    """The server's logs, whose copies in S3 lead to any point in time."""

    account: Account
    """Who closes a log, so that it can be copied."""
    arguments: tuple[str, ...]
    """Of the server, with which logs can be applied to a copy of it, from any point of it."""
    replaced: str
    """The one object under the prefix that a copy may replace."""
    option_problem: Callable[[str, str], Problem | None]
    """Returns why the logs would lack transactions, or be gone too soon, with an option and its value."""


@dataclass(frozen=True)
class Login:
    """How a client finds the server from an allocation, and who it is. The texts are Nomad templates."""

    service: str
    """Name of the server's service."""
    provider: str
    """Where that is registered: nomad or consul."""
    tls: str
    """off, preferred or required."""
    verifies: bool
    """Whether the authority's certificate is in the secrets folder, as ca.pem, to verify the server by."""
    account: str
    password: str
    """Shows the password."""
    on_every_client: bool = False
    """Whether each client has an instance of the service: then the one of the allocation's own is taken."""

    def at(self, text: str) -> str:
        """Returns a template that shows a text with {{ .Address }}, {{ .Port }} and {{ .ID }} of the server's service.

        It shows nothing where there is none. Another allocation of the server has another ID.
        """
        lookup = "service" if self.provider == "consul" else "nomadService"
        one = _OF_OWN_CLIENT if self.on_every_client else "{{ with index . 0 }}"
        return f'{{{{ with {lookup} "{self.service}" }}}}{one}{text}{{{{ end }}}}{{{{ end }}}}'


@dataclass(frozen=True)
class Client:
    """What a task has for the database's client to log in."""

    env: Mapping[str, str]
    files: Mapping[str, str]
    """Of the secrets folder, as Nomad templates, by name."""


@dataclass(frozen=True)
class Exporter(Client):
    """What the task of the exporter has for Prometheus; web.yml with Prometheus' own password is there as well."""

    args: Sequence[str]
    login: Mapping[str, str] = field(default_factory=dict)
    """What the task that makes the account has to find out whether it is made already."""


@dataclass(frozen=True)
class Database:
    """One database server."""

    name: str
    """Key of its settings and of its outputs; its scripts are in jobs/NAME/."""
    title: str
    """As people write it."""
    image: str
    """That runs unless another is set: its server, and its client."""
    port: int
    uid: int
    """User id that the server drops to in its image."""
    socket: str
    """In the allocation's folder, where the tasks beside the server log in."""
    data_dir_argument: str
    """The server's argument that names its data directory, before the path."""
    arguments: tuple[str, ...]
    """Further arguments that the server always has."""
    superuser: str
    reserved_accounts: frozenset[str]
    """Accounts beside those of the program that no person may configure."""
    reserved_prefix: str
    """How the names of the server's own accounts begin; empty where they have no common beginning."""
    system_databases: frozenset[str]
    privileges: frozenset[str]
    """What can be granted on a database, one by one."""
    options: ServerOptions
    image_problem: Callable[[str], Problem | None]
    """Returns why an image is not this server's, as far as its name says."""
    files_problem: Callable[[Sequence[int], Sequence[int]], Problem | None]
    """Returns why a version, as numbers, cannot read the files of another; {image} in the remedy is that one's."""
    backup: Account
    """Who dumps."""
    server: Callable[[ServerSettings], ServerTask]
    """Returns what the server's task in jobs/database.nomad.hcl runs with."""
    socket_client: Callable[[str, str, str], Client]
    """Returns what logs in by a socket, as an account, with a password; the first and the last are templates."""
    client: Callable[[Login], Client]
    """Returns what jobs/NAME/dump.sh, restore.sh and exporter-account.sh log in with."""
    exporter_image: str
    exporter: Callable[[Login, str], Exporter]
    """Returns what the exporter runs with; the second is a name that the server's certificate has, or empty."""
    exporter_account: Callable[[str, str], str]
    """Returns the SQL that makes the account of that name and password, which sees the server's state and no rows."""
    logs: Logs | None = None
    """None where they cannot be copied."""
    group: Replication | None = None
    """None where no servers can be one group."""

    @property
    def has_logs(self) -> bool:
        """Whether its logs can be copied to S3, for points in time."""
        return self.logs is not None

    @property
    def own_accounts(self) -> frozenset[str]:
        """The superuser's and the program's accounts, and those reserved beside them."""
        further = {part.account.name for part in (self.logs, self.group) if part is not None}
        return self.reserved_accounts | {self.superuser, self.backup.name} | further

    @staticmethod
    def image_version(image: str) -> tuple[str, tuple[int, ...]] | None:
        """Returns an image's name and the numbers that its tag begins with; None of a tag without them."""
        found = _TAG.fullmatch(image)
        return (found["name"], tuple(map(int, found["version"].split(".")))) if found else None

    def output(self, role: str = "") -> str:
        """Returns the name of a stack's output about it, such as mysqlPassword for Password."""
        return f"{self.name}{role}"

    def job(self, role: str = "") -> str:
        """Returns a name that its jobs and resources have by themselves, such as mysql-backup for backup."""
        return f"{self.name}-{role}" if role else self.name


Databases = Mapping[str, Database]
