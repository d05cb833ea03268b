"""The database servers of stacks that are tried, as data: where each is in a stack, and how a client logs in."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final, Protocol

import pg8000.dbapi
import pymysql
from pymysql.constants import ER

_INVALID_PASSWORD: Final = "28P01"
_CONNECT_TIMEOUT_S: Final = 2


class Login(Protocol):
    """How a superuser's session of DB-API begins."""

    def __call__(
        self, host: str, port: int, password: str, timeout_s: float | None = None, *, autocommit: bool = False
    ) -> Any:
        """Logs in; an answer may take so long. Raises the library's errors."""


@dataclass(frozen=True)
class Server:
    """One of them."""

    name: str
    """Of its settings, of its job's group and task, and of the stack's outputs about it."""
    title: str
    """As people write it."""
    process: str
    """Its program."""
    settings: Mapping[str, Any]
    """In the stack of the sandbox, where they differ from those of another database."""
    login: Login
    errors: tuple[type[Exception], ...]
    """What the client library raises."""
    code: Callable[[Exception], str]
    """Returns the server's code of an error; empty where the connection is gone."""
    wrong_password: str
    """Such a code."""
    members: int = 1
    """Servers of its replication group, a job and a client each; 1 where there is no group."""

    @property
    def job(self) -> str:
        """The id of its job."""
        return str(self.settings["jobId"])

    @property
    def volume(self) -> str:
        """The name of its volume."""
        return str(self.settings["volume"])

    @property
    def running(self) -> str:
        """What the command line of its first process has, and no other."""
        argument = {"mysql": "datadir", "postgres": "data_directory"}[self.name]
        if self.members > 1:
            # The agent and the server's parent process name the data directory too.
            return f"{self.process} .*{argument}=.*super-read-only=ON"
        return f"{argument}={self.settings['dataDir']}"

    @property
    def member_jobs(self) -> list[str]:
        """The ids of the members' jobs; of a server that is in no group the id of its job."""
        return [f"{self.job}-{number}" for number in range(1, self.members + 1)] if self.members > 1 else [self.job]

    def key(self, setting: str) -> str:
        """One of its settings, as a path in a stack's file."""
        return f"nomad-stateful:{self.name}.{setting}"


def _mysql(host: str, port: int, password: str, timeout_s: float | None = None, *, autocommit: bool = False) -> Any:
    return pymysql.connect(
        host=host,
        port=port,
        user="root",
        password=password,
        connect_timeout=_CONNECT_TIMEOUT_S,
        read_timeout=timeout_s,
        write_timeout=timeout_s,
        autocommit=autocommit,
    )


def _mysql_code(error: Exception) -> str:
    # What the library says of a connection that broke is from 2000 on.
    code = error.args[0] if isinstance(error, pymysql.err.MySQLError) and error.args else 0
    return str(code) if isinstance(code, int) and 1000 <= code < 2000 else ""


def _postgres(host: str, port: int, password: str, timeout_s: float | None = None, *, autocommit: bool = False) -> Any:
    server = socket.create_connection((host, port), timeout=_CONNECT_TIMEOUT_S)
    try:
        # It may be accepted by a server that does not answer, too.
        connection = pg8000.dbapi.connect(
            "postgres", password=password, database="postgres", sock=server, ssl_context=False
        )
    except BaseException:
        server.close()
        raise
    server.settimeout(timeout_s)
    connection.autocommit = autocommit
    return connection


def _postgres_code(error: Exception) -> str:
    said = error.args[0] if error.args else None
    code = str(said.get("C", "")) if isinstance(said, dict) else ""
    # Class 57: the server ends the session, or does not begin it.
    return "" if code.startswith("57") else code


MYSQL: Final = Server(
    name="mysql",
    title="MySQL",
    process="mysqld",
    settings=MappingProxyType({"jobId": "mysql-server", "volume": "mysql", "port": 3306, "dataDir": "/srv/mysql"}),
    login=_mysql,
    errors=(pymysql.err.MySQLError, OSError),
    code=_mysql_code,
    wrong_password=str(ER.ACCESS_DENIED_ERROR),
)
POSTGRES: Final = Server(
    name="postgres",
    title="PostgreSQL",
    process="postgres",
    settings=MappingProxyType(
        {
            "jobId": "postgres-server",
            "volume": "postgres",
            "port": 5432,
            "dataDir": "/srv/postgres",
            "image": "postgres:18",
        }
    ),
    login=_postgres,
    errors=(pg8000.dbapi.Error, OSError),
    code=_postgres_code,
    wrong_password=_INVALID_PASSWORD,
)
MYSQL_GROUP: Final = replace(
    MYSQL,
    title="MySQL group",
    settings=MappingProxyType({**MYSQL.settings, "cpuMhz": 200, "group": {"router": {"image": "haproxy:3"}}}),
    members=3,
)
SERVERS: Final[Mapping[str, Server]] = {server.name: server for server in (MYSQL, POSTGRES)}
"""By name."""
GROUPS: Final[Mapping[str, Server]] = {"mysql-group": MYSQL_GROUP}
"""Those that are groups, as commands name them."""
