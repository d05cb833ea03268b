"""A server of the job file in a root folder over the image's, and what one asks of it."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pg8000.dbapi

from nomad_stateful.databases.operations import UnverifiedError
from nomad_stateful.databases.postgres.operations import connect
from sandbox.docker import images, postgres
from tests.mysql.place import Place, Task, task

DATA = "/srv/postgres"
PASSWORD = "superuser-pass-word"
PASSWORDS = {
    "root_password": PASSWORD,
    "password_app": "of-app",
    "password_backup": "of-backup",
    "password_report": "r",
}
PORT = "5432"
"""What a container's own network has for every server."""
_IMAGE = postgres.image(images.base_layer(), None)
STOP_SIGNAL = _IMAGE.stop_signal
ENV = {name: value for name, _, value in (one.partition("=") for one in _IMAGE.env)}
ACCOUNTS = [
    {"name": "app", "privileges": "ALL PRIVILEGES", "database": "shop"},
    {"name": "report", "privileges": "SELECT", "database": "shop"},
    {"name": "backup", "privileges": "pg_read_all_data", "database": ""},
]


@dataclass(frozen=True)
class Server:
    """A place with a server in it."""

    place: Place
    nomad: Path

    @property
    def data(self) -> Path:
        return self.place.root / DATA.lstrip("/")

    @property
    def log(self) -> str:
        return self.place.log.read_text() if self.place.log.exists() else ""

    def prepared(self, spec: str, name: str, known: Mapping[str, str] = PASSWORDS, **variables: Any) -> Task:
        """A task of a job file with its files in place."""
        found = task(self.nomad, spec, name, variables)
        files = {path: self._at_port(text) for path, text in found.files.items()}
        found = replace(found, files=files, words=[*map(self._at_port, found.words)], env=self._env(found))
        self.place.put(found, {"Address": "127.0.0.1", "Port": str(self.place.port), "ID": "x", **known})
        return found

    def start(self, *more: str, known: Mapping[str, str] = PASSWORDS, **variables: Any) -> subprocess.Popen[bytes]:
        """Starts the server, with further arguments."""
        found = self.prepared("postgres", "postgres", known, **variables)
        # A server's key may be read by nobody else.
        for secret in (self.place.root / "secrets").iterdir():
            secret.chmod(0o400)
        subprocess.run(["chown", "-R", "999", str(self.place.root / "secrets")], check=True)
        return self.place.start(replace(found, words=[*found.words, *more]))

    def running(self, **variables: Any) -> subprocess.Popen[bytes]:
        """Starts the server and waits until it answers."""
        process = self.start(**variables)
        self.until_it_answers(process)
        return process

    def make_accounts(self, known: Mapping[str, str] = PASSWORDS, **variables: Any) -> None:
        """Runs the task that makes databases and accounts."""
        done = self.place.run(self.prepared("postgres", "accounts", known, **variables))
        assert done.returncode == 0, done.stderr

    def query(
        self, statement: str, *, user: str = "postgres", password: str = PASSWORD, database: str = "postgres"
    ) -> list[tuple[Any, ...]]:
        """Returns the rows of a statement."""
        with closing(self.session(user, password, database)) as connection, closing(connection.cursor()) as cursor:
            cursor.execute(statement)
            return [tuple(row) for row in cursor.fetchall()] if cursor.description else []

    def session(self, user: str = "postgres", password: str = PASSWORD, database: str = "postgres", **more: Any) -> Any:
        """Returns a session that commits each statement."""
        where = {"host": "127.0.0.1", "port": self.place.port, "timeout": 30}
        connection = pg8000.dbapi.connect(user, password=password, database=database, **where, **more)
        connection.autocommit = True
        return connection

    def until_it_answers(self, process: subprocess.Popen[bytes], timeout_s: float = 120) -> None:
        """Returns once the superuser can log in over the network, which is when Nomad's check passes."""
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                connect("127.0.0.1", self.place.port, "postgres", PASSWORD, None).close()
                return
            except (pg8000.dbapi.Error, OSError, UnverifiedError):
                assert process.poll() is None, self.log[-3000:]
                assert time.monotonic() < deadline, self.log[-3000:]
            time.sleep(0.05)

    def _at_port(self, text: str) -> str:
        return text.replace(PORT, str(self.place.port))

    def _env(self, found: Task) -> dict[str, str]:
        return {**ENV, **{name: self._at_port(value) for name, value in found.env.items()}}
