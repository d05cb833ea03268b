"""Servers with the accounts that their job makes, and the tasks beside them that dump and restore."""

from __future__ import annotations

import gzip
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from nomad_stateful.databases.mysql.database import MYSQL
from tests.mysql.place import ROOT_PASSWORD, Place, Task, place, query, server_task, task, until_it_answers
from tests.ports import unused_port

PASSWORD = "of-the-backup"
SCHEMA = (
    "CREATE DATABASE shop",
    "CREATE TABLE shop.orders (id INT PRIMARY KEY, what VARBINARY(20))",
    "INSERT INTO shop.orders VALUES (1, 'a'), (2, x'00ff27')",
    "CREATE VIEW shop.seen AS SELECT * FROM shop.orders",
    "CREATE PROCEDURE shop.count_orders() SELECT COUNT(*) FROM shop.orders",
    "CREATE EVENT shop.nightly ON SCHEDULE EVERY 1 DAY DO DELETE FROM shop.orders WHERE id < 0",
    "CREATE TRIGGER shop.marks BEFORE INSERT ON shop.orders FOR EACH ROW SET NEW.what = UPPER(NEW.what)",
)
OBJECTS = {
    "rows": "SELECT id, what FROM shop.orders ORDER BY id",
    "view": "SELECT COUNT(*) FROM shop.seen",
    "routines": "SELECT routine_name FROM information_schema.routines WHERE routine_schema = 'shop'",
    "events": "SELECT event_name FROM information_schema.events WHERE event_schema = 'shop'",
    "triggers": "SELECT trigger_name FROM information_schema.triggers WHERE trigger_schema = 'shop'",
}
MARIADB_DUMP = """/*M!999999\\- enable the sandbox mode */
-- MariaDB dump 10.19-11.8.3-MariaDB, for debian-linux-gnu (x86_64)
--
-- Host: localhost    Database:
-- ------------------------------------------------------
-- Server version\t11.8.3-MariaDB-deb13

/*!40101 SET NAMES utf8mb4 */;
/*M!100616 SET @OLD_NOTE_VERBOSITY=@@NOTE_VERBOSITY, NOTE_VERBOSITY=0 */;

--
-- Current Database: `shop`
--

CREATE DATABASE /*!32312 IF NOT EXISTS*/ `shop` /*!40100 DEFAULT CHARACTER SET utf8mb4 */;

USE `shop`;

--
-- Table structure for table `orders`
--

DROP TABLE IF EXISTS `orders`;
CREATE TABLE `orders` (`id` int(11) NOT NULL, `what` varbinary(20) DEFAULT NULL, PRIMARY KEY (`id`)) ENGINE=InnoDB;
INSERT INTO `orders` VALUES (11,'eleven');
-- Dump completed on 2026-01-01  3:00:00
"""


@dataclass(frozen=True)
class Databases:
    """A server, and the tasks beside it that dump and restore."""

    server: Place
    nomad: Path
    database: ClassVar[str] = "mysql"
    ending: ClassVar[str] = "sql.gz"

    def fill(self) -> None:
        """Has the schema as it is at first, and no dump."""
        query(self.server, "SET GLOBAL log_bin_trust_function_creators = 1", "DROP DATABASE IF EXISTS shop", *SCHEMA)
        for dump in self.dumps:
            dump.unlink()

    def lose(self) -> None:
        query(self.server, "DELETE FROM shop.orders", "DROP VIEW shop.seen", "DROP PROCEDURE shop.count_orders")
        query(self.server, "DROP EVENT shop.nightly", "DROP TRIGGER shop.marks")

    def grow(self) -> None:
        rows = ", ".join(f"({number}, RANDOM_BYTES(20))" for number in range(3, 20000))
        query(self.server, f"INSERT INTO shop.orders VALUES {rows}")

    def put(self, content: bytes, name: str = "20260101T000000Z.sql.gz") -> str:
        (self.folder / name).write_bytes(content)
        return name

    def dump_of_no_service(self) -> subprocess.CompletedProcess[str]:
        found = self.prepared("dump", "dump", PASSWORD)
        # As the template is rendered where Nomad has no such service.
        (self.server.root / "secrets/client.cnf").write_text("[client]\nuser = backup\nhost = \nport = \n")
        return self.server.run(found, KEEP="7")

    def accounts(self) -> None:
        """Runs the task that makes the accounts."""
        account = {"name": "backup", "privileges": MYSQL.backup.privileges, "database": ""}
        found = task(self.nomad, "mysql", "accounts", {"accounts": [account], "tls": TLS})
        self._put(found, ROOT_PASSWORD)
        done = self.server.run(found)
        assert done.returncode == 0, done.stderr

    def dump(self, keep: int = 7) -> subprocess.CompletedProcess[str]:
        return self.server.run(self.prepared("dump", "dump", PASSWORD), KEEP=str(keep))

    def restore(self, name: str = "latest") -> subprocess.CompletedProcess[str]:
        return self.server.run(self.prepared("restore", "restore", ROOT_PASSWORD), NOMAD_META_dump=name)

    def start(self, spec: str, name: str, password: str, **env: str) -> subprocess.Popen[bytes]:
        return self.server.start(self.prepared(spec, name, password), **env)

    def objects(self) -> dict[str, tuple[tuple[Any, ...], ...]]:
        return {name: query(self.server, statement) for name, statement in OBJECTS.items()}

    def put_dump(self, text: str) -> None:
        """A dump of other making."""
        self.put(gzip.compress(text.encode()))

    @property
    def folder(self) -> Path:
        return self.server.root / "dumps"

    @property
    def dumps(self) -> list[Path]:
        return sorted(self.folder.glob(f"*.{self.ending}"))

    @property
    def names(self) -> list[str]:
        return [path.name for path in self.dumps]

    def prepared(self, spec: str, name: str, password: str) -> Task:
        """A task with its files in place."""
        found = task(self.nomad, spec, name, {})
        self._put(found, password)
        return found

    def _put(self, found: Task, password: str) -> None:
        of_accounts = {"password_backup": PASSWORD, "root_password": ROOT_PASSWORD, "password": password}
        self.server.put(
            found, {**of_accounts, "Address": "127.0.0.1", "Port": str(self.server.port), "ID": "an-instance"}
        )


TLS = {"mode": "preferred", "certificate": False, "ca": False}


@contextmanager
def running(image: Path, folder: Path, nomad: Path, *options: str) -> Iterator[Databases]:
    """A server whose accounts are made."""
    with place(image, folder, unused_port()) as made:
        found = server_task(nomad, *options)
        made.put(found, {"root_password": ROOT_PASSWORD})
        until_it_answers(made, made.start(found))
        databases = Databases(made, nomad)
        databases.accounts()
        yield databases


SERVERS = {
    "with GTIDs": ["--gtid-mode=ON", "--enforce-gtid-consistency=ON"],
    "without GTIDs": ["--gtid-mode=OFF", "--enforce-gtid-consistency=OFF"],
}
