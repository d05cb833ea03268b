"""Dumps and restores by the tasks' own scripts, as the accounts that the server's job makes."""

from __future__ import annotations

import gzip
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pymysql
import pytest

from program.wiring.mysql import BACKUP_PRIVILEGES
from tests.mysql.conftest import FLAVOURS
from tests.mysql.place import ROOT_PASSWORD, Flavour, Place, Task, place, server_task, task
from tests.mysql.test_first_start import query, until_it_answers
from tests.ports import unused_port

pytestmark = [pytest.mark.sandbox, pytest.mark.nomad]

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


@dataclass(frozen=True)
class Databases:
    """A server, and the tasks beside it that dump and restore."""

    server: Place
    nomad: Path

    def accounts(self) -> None:
        """Runs the task that makes the accounts."""
        account = {"name": "backup", "privileges": BACKUP_PRIVILEGES, "database": ""}
        found = task(self.nomad, "mysql", "accounts", {"accounts": [account], "tls": TLS})
        self._put(found, ROOT_PASSWORD)
        done = self.server.run(found)
        assert done.returncode == 0, done.stderr

    def dump(self, keep: int = 7) -> subprocess.CompletedProcess[str]:
        return self.server.run(self.prepared("mysql-backup", "dump", PASSWORD), KEEP=str(keep))

    def restore(self, name: str = "latest") -> subprocess.CompletedProcess[str]:
        return self.server.run(self.prepared("mysql-restore", "restore", ROOT_PASSWORD), NOMAD_META_dump=name)

    def start(self, spec: str, name: str, password: str, **env: str) -> subprocess.Popen[bytes]:
        return self.server.start(self.prepared(spec, name, password), **env)

    def objects(self) -> dict[str, tuple[tuple[Any, ...], ...]]:
        return {name: query(self.server, statement) for name, statement in OBJECTS.items()}

    @property
    def dumps(self) -> list[Path]:
        return sorted((self.server.root / "dumps").glob("*.sql.gz"))

    def prepared(self, spec: str, name: str, password: str) -> Task:
        """A task with its files in place."""
        found = task(self.nomad, spec, name, {})
        self._put(found, password)
        return found

    def _put(self, found: Task, password: str) -> None:
        of_accounts = {"password_backup": PASSWORD, "root_password": ROOT_PASSWORD, "password": password}
        self.server.put(found, {**of_accounts, "Address": "127.0.0.1", "Port": str(self.server.port)})


TLS = {"mode": "preferred", "certificate": False, "ca": False}


@contextmanager
def running(flavour: Flavour, folder: Path, nomad: Path, *options: str) -> Iterator[Databases]:
    """A server whose accounts are made."""
    with place(flavour, folder, unused_port()) as made:
        found = server_task(nomad, flavour, args=list(options))
        made.put(found, {"root_password": ROOT_PASSWORD})
        until_it_answers(made, made.start(found))
        databases = Databases(made, nomad)
        databases.accounts()
        yield databases


SERVERS = {
    "mariadb": ["--log-bin=binlog"],
    "mysql": ["--gtid-mode=ON", "--enforce-gtid-consistency=ON"],
    "mysql without GTIDs": ["--gtid-mode=OFF", "--enforce-gtid-consistency=OFF"],
}


@pytest.fixture(scope="module", params=[name for name in SERVERS if name.split()[0] in FLAVOURS])
def databases(
    request: pytest.FixtureRequest,
    flavour_of: Callable[[str], Flavour],
    nomad: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Databases]:
    flavour = flavour_of(request.param.split()[0])
    with running(flavour, tmp_path_factory.mktemp("server"), nomad, *SERVERS[request.param]) as made:
        yield made


@pytest.fixture
def shop(databases: Databases) -> Databases:
    """The schema, anew, and no dump."""
    query(databases.server, "SET GLOBAL log_bin_trust_function_creators = 1", "DROP DATABASE IF EXISTS shop", *SCHEMA)
    for dump in databases.dumps:
        dump.unlink()
    return databases


def test_a_dump_restores_everything_into_the_running_server(shop: Databases) -> None:
    before = shop.objects()
    done = shop.dump()
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(shop.dumps[0].name)
    query(shop.server, "DELETE FROM shop.orders", "DROP VIEW shop.seen", "DROP PROCEDURE shop.count_orders")
    query(shop.server, "DROP EVENT shop.nightly", "DROP TRIGGER shop.marks")
    restored = shop.restore()
    assert restored.returncode == 0, restored.stderr
    assert shop.objects() == before
    assert before["rows"] == ((1, b"a"), (2, b"\x00\xff'"))
    assert all(before.values())


# Options of the dump's program, a pattern of file names, and what has to be quoted.
NAMES = ("--where=0", "--ignore-table=shop.orders", "--host=192.0.2.1", "*", "it`s; a 'name' --")


def test_names_of_databases_are_neither_options_nor_patterns(shop: Databases) -> None:
    before = shop.objects()
    quoted = ["`" + name.replace("`", "``") + "`" for name in NAMES]
    for name in quoted:
        query(shop.server, f"CREATE DATABASE {name}", f"CREATE TABLE {name}.`-t` (id INT PRIMARY KEY)")
        query(shop.server, f"INSERT INTO {name}.`-t` VALUES (1)")
    try:
        done = shop.dump()
        assert done.returncode == 0, done.stderr
        query(shop.server, "DROP DATABASE shop", *(f"DROP DATABASE {name}" for name in quoted))
        restored = shop.restore()
        assert restored.returncode == 0, restored.stderr
        assert shop.objects() == before
        assert [query(shop.server, f"SELECT id FROM {name}.`-t`") for name in quoted] == [((1,),)] * len(NAMES)
    finally:
        query(shop.server, *(f"DROP DATABASE IF EXISTS {name}" for name in quoted))


def test_a_dump_runs_no_command_of_the_client(shop: Databases) -> None:
    text = (
        "-- Current Database: `shop`\nUSE `shop`;\n\\! touch /dumps/it-ran\nsystem touch /dumps/it-ran\n"
        "-- Dump completed on 2026-01-01\n"
    )
    (shop.server.root / "dumps/20260101T000000Z.sql.gz").write_bytes(gzip.compress(text.encode()))
    shop.restore()
    assert not (shop.server.root / "dumps/it-ran").exists()


def test_a_dump_restores_into_a_server_that_has_no_database(shop: Databases, nomad: Path, tmp_path: Path) -> None:
    before = shop.objects()
    assert shop.dump().returncode == 0
    with running(shop.server.flavour, tmp_path, nomad) as empty:
        subprocess.run(["cp", str(shop.dumps[0]), str(empty.server.root / "dumps")], check=True)
        restored = empty.restore(shop.dumps[0].name)
        assert restored.returncode == 0, restored.stderr
        assert empty.objects() == before


# Without SELECT MariaDB's dump has no rows, without TRIGGER no dump has triggers, and both are called complete.
@pytest.mark.parametrize("privilege", BACKUP_PRIVILEGES.split(", "))
def test_a_dump_as_an_account_that_lacks_a_privilege_is_refused(shop: Databases, privilege: str) -> None:
    query(shop.server, f"REVOKE {privilege} ON *.* FROM 'backup'@'%'")
    try:
        done = shop.dump()
        assert done.returncode != 0
        assert f"the account backup lacks {privilege} on all databases" in done.stderr
        assert shop.dumps == []
    finally:
        shop.accounts()
    assert shop.dump().returncode == 0


def test_the_account_can_neither_write_nor_flush(shop: Databases) -> None:
    for statement in ("INSERT INTO shop.orders VALUES (3, 'c')", "FLUSH TABLES WITH READ LOCK", "DROP DATABASE shop"):
        with (
            pymysql.connect(host="127.0.0.1", port=shop.server.port, user="backup", password=PASSWORD) as connection,
            connection.cursor() as cursor,
            pytest.raises(pymysql.err.MySQLError, match="denied"),
        ):
            cursor.execute(statement)


def test_a_dump_that_sets_gtids_as_others_make_it_is_restored_without_them(shop: Databases) -> None:
    text = (
        "-- MySQL dump 10.13\nSET @MYSQLDUMP_TEMP_LOG_BIN = @@SESSION.SQL_LOG_BIN;\nSET @@SESSION.SQL_LOG_BIN= 0;\n"
        "SET @@GLOBAL.GTID_PURGED=/*!80000 '+'*/ '3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5,\n"
        "4e11fa47-71ca-11e1-9e33-c80aa9429562:1-7';\n"
        "-- Current Database: `shop`\nUSE `shop`;\nDELETE FROM orders;\nINSERT INTO orders VALUES (7, 'seven');\n"
        "-- Dump completed on 2026-01-01\n"
    )
    (shop.server.root / "dumps/20260101T000000Z.sql.gz").write_bytes(gzip.compress(text.encode()))
    restored = shop.restore()
    assert restored.returncode == 0, restored.stderr
    assert query(shop.server, OBJECTS["rows"]) == ((7, b"seven"),)


def test_a_restore_while_a_dump_runs_breaks_neither(shop: Databases) -> None:
    rows = ", ".join(f"({number}, REPEAT('x', 20))" for number in range(3, 60000))
    query(shop.server, f"INSERT INTO shop.orders VALUES {rows}")
    assert shop.dump().returncode == 0
    name, before = shop.dumps[0].name, shop.objects()
    dumping = shop.start("mysql-backup", "dump", PASSWORD, KEEP="7")
    restored = shop.restore(name)
    dumping.wait(120)
    assert restored.returncode == 0, restored.stderr
    assert shop.objects() == before
    for dump in shop.dumps:
        assert gzip.decompress(dump.read_bytes()).rstrip().splitlines()[-1].startswith(b"-- Dump completed")
        assert shop.restore(dump.name).returncode == 0
        assert shop.objects() == before


def test_a_dump_that_fails_leaves_the_older_ones_and_says_why(shop: Databases) -> None:
    assert shop.dump().returncode == 0
    (kept,) = shop.dumps
    query(
        shop.server, "CREATE VIEW shop.broken AS SELECT * FROM shop.orders", "ALTER TABLE shop.orders RENAME shop.gone"
    )
    done = shop.dump()
    assert done.returncode != 0
    assert "broken' references invalid table(s)" in done.stderr
    assert "the dump is not whole" in done.stderr
    assert shop.dumps == [kept]


def test_a_full_volume_fails_the_dump_and_keeps_the_older_ones(shop: Databases) -> None:
    rows = ", ".join(f"({number}, RANDOM_BYTES(20))" for number in range(3, 20000))
    query(shop.server, f"INSERT INTO shop.orders VALUES {rows}")
    folder = shop.server.root / "dumps"
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)], check=True)
    try:
        (folder / "20260101T030000Z.sql.gz").write_bytes(b"older")
        done = shop.dump()
        kept = [dump.name for dump in shop.dumps]
    finally:
        subprocess.run(["umount", str(folder)], check=True)
    assert done.returncode != 0
    assert "No space left on device" in done.stderr
    assert kept == ["20260101T030000Z.sql.gz"]


def test_without_a_server_the_dump_says_that_there_is_no_service(shop: Databases) -> None:
    found = shop.prepared("mysql-backup", "dump", PASSWORD)
    # As the template is rendered where Nomad has no such service.
    (shop.server.root / "secrets/client.cnf").write_text("[client]\nuser = backup\nhost = \nport = \n")
    done = shop.server.run(found, KEEP="7")
    assert done.returncode != 0
    assert "no such service is registered now" in done.stderr
    assert shop.dumps == []


def test_a_table_that_is_rebuilt_while_it_waits_to_be_dumped_fails_the_dump(shop: Databases) -> None:
    query(shop.server, "CREATE TABLE shop.a_long_one (id INT PRIMARY KEY AUTO_INCREMENT, filler CHAR(200))")
    query(shop.server, "INSERT INTO shop.a_long_one (filler) VALUES " + ", ".join(["(REPEAT('x', 200))"] * 2000))
    for _ in range(7):
        query(shop.server, "INSERT INTO shop.a_long_one (filler) SELECT filler FROM shop.a_long_one")
    dumping = subprocess.Popen(
        shop.server.words(shop.prepared("mysql-backup", "dump", PASSWORD), {"KEEP": "7"}),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    reading = "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'backup' AND info LIKE '%FROM `a_long%'"
    while query(shop.server, reading)[0][0] == 0:
        assert dumping.poll() is None
    query(shop.server, "ALTER TABLE shop.orders FORCE")
    said = dumping.communicate(timeout=120)[1]
    assert dumping.returncode != 0
    assert "Table definition has changed" in said
    assert shop.dumps == []


def test_a_dump_that_cannot_be_read_to_its_end_is_not_restored(shop: Databases) -> None:
    assert shop.dump().returncode == 0
    (dump,) = shop.dumps
    dump.write_bytes(dump.read_bytes()[:-100])
    before = shop.objects()
    restored = shop.restore()
    assert restored.returncode != 0
    assert "is not whole" in restored.stderr
    assert shop.objects() == before


@pytest.mark.parametrize("command", [r"\! touch /dumps/taken-over", "system touch /dumps/taken-over"])
def test_a_dump_is_statements_and_no_command_of_the_client(shop: Databases, command: str) -> None:
    text = f"CREATE DATABASE IF NOT EXISTS shop;\n{command}\n-- Dump completed\n"
    (shop.server.root / "dumps/20260101T000000Z.sql.gz").write_bytes(gzip.compress(text.encode()))
    restored = shop.restore()
    assert restored.returncode != 0
    assert "ERROR" in restored.stderr
    assert not (shop.server.root / "dumps/taken-over").exists()
