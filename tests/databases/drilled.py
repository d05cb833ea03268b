"""A server of each database as a drill starts it, and what the check beside it says."""

from __future__ import annotations

import gzip
import io
import subprocess
import tarfile
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from nomad_stateful.databases.catalogue import DATABASES
from nomad_stateful.databases.operations import Drill, operations
from tests.mysql import place as mysql
from tests.mysql.place import Place, Task, stop
from tests.postgres import server as postgres

_TEXT = "x" * 150


@dataclass
class Drilled(ABC):
    """A server on a data directory of its own."""

    place: Place
    nomad: Path
    database: ClassVar[str]
    orders: ClassVar[str]
    """The table, as the check names it."""
    notes: ClassVar[str]
    newest: ClassVar[str]
    password: ClassVar[str]
    refused: ClassVar[tuple[bytes, str]]
    """A dump that its server does not load, and what is said of it."""
    harm: ClassVar[str]
    """What is said of a table with a damaged page."""

    @property
    def drill(self) -> Drill:
        return operations(self.database).drill

    @property
    @abstractmethod
    def socket(self) -> str:
        """Of the server, in its allocation."""

    @property
    @abstractmethod
    def pages(self) -> Path:
        """The file of the table's rows."""

    @abstractmethod
    def start(self) -> subprocess.Popen[bytes]:
        """Starts it with the drill's arguments, and waits until it answers."""

    @abstractmethod
    def fill(self, rows: int) -> None:
        """Has the database shop, with so many orders and no note."""

    @abstractmethod
    def query(self, statement: str) -> None:
        """Runs a statement as the superuser."""

    @abstractmethod
    def restore_scripts(self) -> Task:
        """The task that restores dumps."""

    def damage(self, process: subprocess.Popen[bytes]) -> None:
        """Stops it and overwrites a row of a page, and starts it again."""
        assert stop(process) == 0
        with self.pages.open("r+b") as file:
            at = file.read().index(_TEXT.encode(), 6 * 16384)
            file.seek(at)
            file.write(b"damaged")
        self.start()

    def check(self, newest: str = "", dump: str = "") -> list[list[str]]:
        """The fields of each line of the check's task, which loads a dump first."""
        kind = DATABASES[self.database]
        client = kind.socket_client(self.socket, kind.superuser, self.password)
        files = {"local/drill.sh": self.drill.script, **({"local/newest.sql": newest} if newest else {})}
        env = {**client.env, "START_SOCKET": self.socket, "DRILL_PATIENCE": "30"}
        if dump:
            scripts = self.restore_scripts()
            files |= {path: text for path, text in scripts.files.items() if path.startswith("local/")}
            env |= {"DRILL_DUMP": dump, "DUMPS": "/dumps", "NOMAD_META_dump": dump}
        files |= {f"${{NOMAD_SECRETS_DIR}}/{name}": text for name, text in client.files.items()}
        task = Task(files, ["sh", "/local/drill.sh"], env)
        self.place.put(task, {})
        done = self.place.run(task)
        return [line.split("\t")[1:] for line in done.stdout.splitlines() if line.startswith("drill\t")]

    def tables(self, lines: list[list[str]]) -> dict[str, tuple[str, str]]:
        """Rows and status of each table but the server's own and that of `verify`."""
        found = {line[1]: (line[2], line[3]) for line in lines if line[0] == "table"}
        return {name: said for name, said in found.items() if not name.startswith(self.drill.own_tables)}

    def put(self, name: str, content: bytes) -> str:
        """Puts a dump there."""
        (self.place.root / "dumps" / name).write_bytes(content)
        return name


class MySql(Drilled):
    """MySQL's."""

    database = "mysql"
    orders, notes = "`shop`.`orders`", "`shop`.`notes`"
    newest = "SELECT MAX(id) FROM shop.orders"
    password = mysql.ROOT_PASSWORD
    refused = (
        gzip.compress(b"CREATE DATABASE broken;\nCREATE TABLE broken.one (id INT,);\n-- Dump completed\n"),
        "ERROR 1064",
    )
    # It ends at a page that it cannot read.
    harm = "ERROR 2013"
    socket = "/alloc/mysql/mysql.sock"

    @property
    def pages(self) -> Path:
        return self.place.root / mysql.DATA.lstrip("/") / "shop/orders.ibd"

    def start(self) -> subprocess.Popen[bytes]:
        found = mysql.server_task(self.nomad, *self.drill.quiet)
        self.place.put(found, {"root_password": self.password})
        process = self.place.start(found)
        mysql.until_it_answers(self.place, process)
        return process

    def fill(self, rows: int) -> None:
        numbers = f"WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {rows})"
        mysql.query(
            self.place,
            "CREATE DATABASE shop",
            "CREATE TABLE shop.orders (id INT PRIMARY KEY, what VARCHAR(200))",
            "CREATE TABLE shop.notes (id INT)",
            f"SET cte_max_recursion_depth = {rows}",
            f"INSERT INTO shop.orders {numbers} SELECT n, '{_TEXT}' FROM numbers",
            # What the redo log would make whole again has to be in the pages alone.
            "SET GLOBAL innodb_fast_shutdown = 0",
        )

    def query(self, statement: str) -> None:
        mysql.query(self.place, statement)

    def restore_scripts(self) -> Task:
        return mysql.task(self.nomad, "restore", "restore", {})


def _of_other_making() -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as tar:
        tar.addfile(tarfile.TarInfo("toc.dat"))
    return content.getvalue()


class Postgres(Drilled):
    """PostgreSQL's."""

    database = "postgres"
    orders, notes = "shop.public.orders", "shop.public.notes"
    newest = "SELECT max(id) FROM public.orders"
    password = postgres.PASSWORD
    refused = (_of_other_making(), "is no dump that this stack's jobs made")
    harm = "invalid page in block "

    @property
    def _server(self) -> postgres.Server:
        return postgres.Server(self.place, self.nomad)

    @property
    def socket(self) -> str:
        return f"/alloc/postgres/.s.PGSQL.{self.place.port}"

    @property
    def pages(self) -> Path:
        [(path,)] = self._paths
        return self._server.data / str(path)

    def start(self) -> subprocess.Popen[bytes]:
        process = self._server.start(*self.drill.quiet)
        self._server.until_it_answers(process)
        return process

    def fill(self, rows: int) -> None:
        self._server.query("CREATE DATABASE shop")
        for statement in (
            "CREATE TABLE orders (id int PRIMARY KEY, what text)",
            "CREATE TABLE notes (id int)",
            f"INSERT INTO orders SELECT n, E'a\\nb{_TEXT}' FROM generate_series(1, {rows}) n",
        ):
            self._server.query(statement, database="shop")
        self._paths = self._server.query("SELECT pg_relation_filepath('orders')", database="shop")

    def query(self, statement: str) -> None:
        self._server.query(statement)

    def restore_scripts(self) -> Task:
        server = {"database": "postgres", "account": "postgres", "ca": ""}
        return mysql.task(self.nomad, "restore", "restore", {"server": server, "client": {"files": {}, "env": {}}})


KINDS: dict[str, type[Drilled]] = {kind.database: kind for kind in (MySql, Postgres)}
