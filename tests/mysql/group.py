"""Three members of a replication group, each in a root folder and at an address of its own, and their agents."""

from __future__ import annotations

import contextlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pymysql

from nomad_stateful import jobspec as jobs
from tests.certificates import Authority
from tests.mysql.group_network import Network, network
from tests.mysql.place import DATA, ROOT_PASSWORD, Place, Task, place, server_task, stop

GROUP_ID = "a1a1a1a1-0000-4000-8000-00000000000a"
NAMES = ("member-1", "member-2", "member-3")
# A server takes a seed at one of the interfaces' addresses and with its own port for itself.
PORTS = {name: 3300 + number for number, name in enumerate(NAMES, start=1)}
HTTP_PORT = 8008
ADDRESSES = {name: f"10.99.0.{number}" for number, name in enumerate(NAMES, start=1)}
HOSTS = "".join(f"{address} {name}\n" for name, address in ADDRESSES.items())
REPLICATION_PASSWORD = "of-the-group"
_HOSTS_MOUNT = 'mount --bind "$1" /etc/hosts; shift; exec "$@"'


def options(name: str) -> list[str]:
    """The server's options of a group's member."""
    group = {
        "group_name": GROUP_ID,
        "local_address": f"{name}:{PORTS[name]}",
        "group_seeds": ",".join(f"{one}:{PORTS[one]}" for one in NAMES),
        "communication_stack": "MYSQL",
        "start_on_boot": "OFF",
        "consistency": "BEFORE_ON_PRIMARY_FAILOVER",
        "member_expel_timeout": "0",
        "unreachable_majority_timeout": "0",
        "exit_state_action": "OFFLINE_MODE",
        "autorejoin_tries": "100",
        "message_cache_size": "134217728",
        "clone_threshold": "1000000",
        "gtid_assignment_block_size": "1",
        "ssl_mode": "VERIFY_IDENTITY",
        "recovery_use_ssl": "ON",
        "recovery_ssl_ca": "/secrets/ca.pem",
        "recovery_ssl_verify_server_cert": "ON",
    }
    server = {
        "bind-address": ADDRESSES[name],
        "report-port": str(PORTS[name]),
        "server-id": str(NAMES.index(name) + 1),
        "report-host": name,
        "gtid-mode": "ON",
        "enforce-gtid-consistency": "ON",
        "mysqlx": "OFF",
        "innodb-buffer-pool-size": "64M",
        "innodb-redo-log-capacity": "16M",
        "ssl-ca": "/secrets/ca.pem",
        "ssl-cert": "/secrets/server-cert.pem",
        "ssl-key": "/secrets/server-key.pem",
        "log-error-verbosity": "3",
    }
    plugins = [f"--plugin-load-add={plugin}.so" for plugin in ("group_replication", "mysql_clone")]
    return [
        *plugins,
        *(f"--{key}={value}" for key, value in server.items()),
        *(f"--loose-group-replication-{key.replace('_', '-')}={value}" for key, value in group.items()),
    ]


@dataclass
class Member:
    """A member, its server's task, and its agent."""

    name: str
    place: Place
    task: Task
    network: Network
    folder: Path
    """With a short name: a socket's path has to be."""
    server: subprocess.Popen[bytes] | None = None
    agent: subprocess.Popen[bytes] | None = None

    @property
    def data(self) -> Path:
        return self.place.root / DATA.lstrip("/")

    @property
    def socket(self) -> str:
        return str(self.folder / "alloc/mysql/mysql.sock")

    def start_server(self) -> None:
        for run in ("tmp", "run/mysqld", "var/run/mysqld"):
            for left in (self.place.root / run).glob("*"):
                subprocess.run(["rm", "-rf", str(left)], check=True)
        (self.place.root / "etc/hosts").write_text("127.0.0.1 localhost\n")
        with self.place.log.open("ab") as log:
            command = [*self.network.enter, *self.place.words(self.task, {})]
            self.server = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        self.place.started.append(self.server)

    def stop_server(self, *, kill: bool = False) -> int:
        assert self.server is not None
        return stop(self.server, kill=kill)

    @property
    def first_process(self) -> int:
        """The first process of the server's container."""
        assert self.server is not None
        return int(Path(f"/proc/{self.server.pid}/task/{self.server.pid}/children").read_text().split()[0])

    def start_agent(self, first: str = NAMES[0], ca: bool = True, *, has_scripts: bool = False) -> None:
        words = [
            f"--options={self.folder / 'client.cnf'}",
            f"--replication={self.folder / 'replication.cnf'}",
            f"--datadir={self.data}",
            f"--group={GROUP_ID}",
            f"--member={self.name}",
            f"--members={','.join(f'{name}:{PORTS[name]}' for name in NAMES)}",
            f"--first={first}",
            f"--ca={self.place.root / 'secrets/ca.pem' if ca else ''}",
            f"--listen={ADDRESSES[self.name]}:{HTTP_PORT}",
            f"--has-scripts={str(has_scripts).lower()}",
        ]
        enter = [*self.network.enter, "unshare", "--mount", "sh", "-ec", _HOSTS_MOUNT, "hosts"]
        program = [sys.executable, "-m", "nomad_stateful.agent", "group", *words]
        with (self.folder / "agent.log").open("ab") as log:
            self.agent = subprocess.Popen([*enter, str(self.folder / "hosts"), *program], stdout=log, stderr=log)

    def stop_agent(self) -> None:
        if self.agent is not None:
            self.agent.kill()
            self.agent.wait(30)

    def pause_agent(self, seconds: float) -> None:
        assert self.agent is not None
        self.agent.send_signal(signal.SIGSTOP)
        threading.Event().wait(seconds)
        self.agent.send_signal(signal.SIGCONT)

    def said(self) -> str:
        """What the agent said."""
        return (self.folder / "agent.log").read_text()

    @contextlib.contextmanager
    def session(self, within_s: float = 30) -> Iterator[Any]:
        # PyMySQL leaves a socket open that nobody listens on.
        with socket.socket(socket.AF_UNIX) as probe:
            try:
                probe.connect(self.socket)
            except OSError as error:
                raise pymysql.err.OperationalError(str(error)) from None
        with (
            pymysql.connect(
                unix_socket=self.socket, user="root", password=ROOT_PASSWORD, autocommit=True, read_timeout=within_s
            ) as connection,
            connection.cursor() as cursor,
        ):
            yield cursor

    def query(self, *statements: str, within_s: float = 30) -> tuple[tuple[Any, ...], ...]:
        with self.session(within_s) as cursor:
            for statement in statements:
                cursor.execute(statement)
            return tuple(cursor.fetchall())

    def connect(self) -> Any:
        """A session of a client's, from another host."""

        def connected() -> Any:
            return pymysql.connect(
                host=ADDRESSES[self.name], port=PORTS[self.name], user="root", password=ROOT_PASSWORD
            )

        return self.network.threads.submit(connected).result()

    def state(self) -> str:
        with contextlib.suppress(pymysql.err.MySQLError):
            [(state, role)] = self.query(
                "SELECT member_state, member_role FROM performance_schema.replication_group_members "
                "WHERE member_id IN (@@server_uuid, '')",
                within_s=5,
            )
            return f"{state} {role}".strip()
        return ""

    def ask(self, path: str) -> tuple[int, str]:
        """What the agent answers; 0 and why where it does not."""

        def request() -> tuple[int, str]:
            connection = HTTPConnection(ADDRESSES[self.name], HTTP_PORT, timeout=2)
            try:
                connection.request("GET", path)
                found = connection.getresponse()
                return found.status, found.read().decode().strip()
            except OSError as error:
                return 0, str(error)
            finally:
                connection.close()

        return self.network.threads.submit(request).result()


@dataclass
class Group:
    """All members."""

    members: Mapping[str, Member]

    def __iter__(self) -> Iterator[Member]:
        return iter(self.members.values())

    def primaries(self) -> list[Member]:
        """Whoever says now that it may be written to; all are asked at once."""
        with ThreadPoolExecutor() as threads:
            answers = list(threads.map(lambda member: member.ask("/primary")[0], self))
        return [member for member, status in zip(self, answers, strict=True) if status == 200]

    def log(self) -> str:
        """What is to be read where something failed."""
        return "\n".join(f"=== {one.name}\n{one.said()[-3000:]}\n{one.place.log.read_text()[-3000:]}" for one in self)

    def until(self, what: Callable[[], Any], timeout_s: float = 90) -> Any:
        """Returns the first true result."""
        deadline = time.monotonic() + timeout_s
        while not (found := what()):
            assert time.monotonic() < deadline, self.log()
            time.sleep(0.1)
        return found

    def until_whole(self, timeout_s: float = 120) -> None:
        """Returns once all are in one group."""

        def whole() -> bool:
            states = [one.state() for one in self]
            return sorted(states) == ["ONLINE PRIMARY", "ONLINE SECONDARY", "ONLINE SECONDARY"] and all(
                len(one.query("SELECT 1 FROM performance_schema.replication_group_members")) == len(NAMES)
                for one in self
            )

        self.until(whole, timeout_s)


@contextlib.contextmanager
def group(image: Path, nomad: Path, folder: Path, template: Path | None = None) -> Iterator[Group]:
    """Three members; each has a data directory where there is one to copy. Nothing runs yet."""
    folder.mkdir()
    authority = Authority.made(folder / "tls", ",".join(f"DNS:{name}" for name in NAMES))
    with contextlib.ExitStack() as stack:
        own = stack.enter_context(network(ADDRESSES.values()))
        short = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gr")))
        members = {}
        for name in NAMES:
            at = stack.enter_context(place(image, folder / name, PORTS[name]))
            members[name] = _member(name, at, nomad, own, short / name, authority)
            stack.callback(members[name].stop_agent)
            if template is not None:
                fill(members[name], template)
        yield Group(members)


def fill(member: Member, template: Path) -> None:
    """Gives a member a data directory of its own."""
    shutil.rmtree(member.data, ignore_errors=True)
    subprocess.run(["cp", "-a", "--sparse=always", str(template), str(member.data)], check=True)


def _member(name: str, at: Place, nomad: Path, own: Network, folder: Path, authority: Authority) -> Member:
    found = server_task(nomad)
    client = f"[client]\nuser = root\npassword = {ROOT_PASSWORD}\nsocket = {{}}/mysql/mysql.sock\n"
    files = {
        **found.files,
        "local/member.sh": (jobs.FOLDER / "mysql/member.sh").read_text(),
        "local/hosts": HOSTS,
        "${NOMAD_SECRETS_DIR}/client.cnf": client.format("/alloc"),
        **{
            f"${{NOMAD_SECRETS_DIR}}/{one}.pem": authority.read(f"{one}.pem")
            for one in ("ca", "server-cert", "server-key")
        },
    }
    words = ["sh", "${NOMAD_TASK_DIR}/member.sh", *found.words, *options(name)]
    task = replace(found, files=files, words=words, env={**found.env, "MYSQL_INITDB_SKIP_TZINFO": "1"})
    at.put(task, {"root_password": ROOT_PASSWORD})
    folder.mkdir()
    (folder / "alloc").symlink_to(at.root / "alloc")
    (folder / "hosts").write_text(HOSTS)
    (folder / "client.cnf").write_text(client.format(folder / "alloc"))
    (folder / "replication.cnf").write_text(f"[client]\nuser = replication\npassword = {REPLICATION_PASSWORD}\n")
    return Member(name, at, task, own, folder)
