"""What a database's server runs with, as its description makes it for jobs/database.nomad.hcl."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Grant:
    """An account of the server, and what it may do."""

    name: str
    privileges: str
    database: str
    """Empty for all of them."""


@dataclass(frozen=True)
class Member:
    """One server of a replication group."""

    name: str
    """Its job, its service, and its host name among the members."""
    others: Sequence[str]
    """Names of the other members."""
    port: int
    """Of each member, on its client and in its container."""
    message_cache_mib: int
    """Messages that the group keeps in memory for members that come back."""


@dataclass(frozen=True)
class ServerSettings:
    """What a server is to be."""

    job_id: str
    """Names its service too."""
    data_dir: str
    args: Sequence[str]
    """With the data directory's."""
    config: Mapping[str, str]
    """Options as they stand in the server's file, by name; values are Nomad templates."""
    tls: str
    """off, preferred or required."""
    certificate: bool
    """Whether server-cert.pem and server-key.pem are in the secrets folder; without them it makes one of its own."""
    ca: bool
    """Whether the authority's certificate is there, as ca.pem."""
    databases: Sequence[str]
    accounts: Sequence[Grant]
    member: Member | None = None
    """Which member of a group it is; None for a single server."""

    def item(self, name: str) -> str:
        """Returns what shows an item of the job's variable in a secret file: root_password, or password_ACCOUNT."""
        return f"{{{{ .{name} }}}}"


@dataclass(frozen=True)
class ServerTask:
    """What a server's task has."""

    args: Sequence[str]
    certificate_args: Sequence[str]
    """Those that name the certificate's files; a drill's server has neither."""
    env: Mapping[str, str]
    files: Mapping[str, str]
    """Of the task's folder, as Nomad templates, by name."""
    secrets: Mapping[str, str]
    """Of the secrets folder, which show items of the job's variable: the server's user alone reads them."""
    accounts: Mapping[str, str]
    """The same of jobs/NAME/accounts.sh, which makes databases and accounts; it has the socket's login as well."""
