"""Dumps and restores that are refused, or fail: what is said, and what is left as it was."""

from __future__ import annotations

import subprocess

import pymysql
import pytest

from nomad_stateful.databases.mysql.database import MYSQL
from tests.mysql.databases import MARIADB_DUMP, PASSWORD, Databases
from tests.mysql.place import query

pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.nomad,
    pytest.mark.parametrize("databases", ["with GTIDs"], indirect=True, scope="module"),
]


def test_a_dump_runs_no_command_of_the_client(shop: Databases) -> None:
    text = (
        "-- Current Database: `shop`\nUSE `shop`;\n\\! touch /dumps/it-ran\nsystem touch /dumps/it-ran\n"
        "-- Dump completed on 2026-01-01\n"
    )
    shop.put_dump(text)
    shop.restore()
    assert not (shop.server.root / "dumps/it-ran").exists()


# Without TRIGGER a dump has no triggers, and is called complete.
@pytest.mark.parametrize("privilege", MYSQL.backup.privileges.split(", "))
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


def test_a_table_that_is_rebuilt_while_it_waits_to_be_dumped_fails_the_dump(shop: Databases) -> None:
    query(shop.server, "CREATE TABLE shop.a_long_one (id INT PRIMARY KEY AUTO_INCREMENT, filler CHAR(200))")
    query(shop.server, "INSERT INTO shop.a_long_one (filler) VALUES " + ", ".join(["(REPEAT('x', 200))"] * 2000))
    for _ in range(7):
        query(shop.server, "INSERT INTO shop.a_long_one (filler) SELECT filler FROM shop.a_long_one")
    dumping = subprocess.Popen(
        shop.server.words(shop.prepared("dump", "dump", PASSWORD), {"KEEP": "7"}),
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


def test_a_dump_of_mariadb_touches_no_table(shop: Databases) -> None:
    before = shop.objects()
    shop.put_dump(MARIADB_DUMP)
    restored = shop.restore()
    assert restored.returncode != 0
    assert "from version 11.8.3-MariaDB-deb13" in restored.stderr
    assert "Restore it into a server that has no tables" in restored.stderr
    assert shop.objects() == before


@pytest.mark.parametrize("command", [r"\! touch /dumps/taken-over", "system touch /dumps/taken-over"])
def test_a_dump_is_statements_and_no_command_of_the_client(shop: Databases, command: str) -> None:
    text = f"CREATE DATABASE IF NOT EXISTS shop;\n{command}\n-- Dump completed\n"
    shop.put_dump(text)
    restored = shop.restore()
    assert restored.returncode != 0
    assert "ERROR" in restored.stderr
    assert not (shop.server.root / "dumps/taken-over").exists()


KEYLESS = """-- Server version\t9.7.4
--
-- Current Database: `shop`
--
CREATE DATABASE /*!32312 IF NOT EXISTS*/ `shop`;
USE `shop`;
--
-- Table structure for table `keyed`
--
DROP TABLE IF EXISTS `keyed`;
CREATE TABLE `keyed` (
  `id` int NOT NULL,
  UNIQUE KEY `id` (`id`)
) ENGINE=InnoDB;
INSERT INTO `keyed` VALUES (1);
--
-- Table structure for table `of two words`
--
DROP TABLE IF EXISTS `of two words`;
CREATE TABLE `of two words` (
  `id` int NOT NULL
) ENGINE=InnoDB;
INSERT INTO `of two words` VALUES (1),(2);
INSERT INTO `of two words` VALUES (3);
DROP TABLE IF EXISTS `empty`;
CREATE TABLE `empty` (
  `id` int NOT NULL
) ENGINE=InnoDB;
DROP TABLE IF EXISTS `old`;
CREATE TABLE `old` (
  `id` int NOT NULL,
  PRIMARY KEY (`id`)
) ENGINE=MyISAM;
-- Dump completed on 2026-01-01
"""


def test_rows_that_a_group_refuses_are_refused_before_a_table_is_touched(shop: Databases) -> None:
    before = shop.objects()
    shop.put_dump(KEYLESS)
    query(shop.server, "INSTALL PLUGIN group_replication SONAME 'group_replication.so'")
    try:
        query(shop.server, "SET GLOBAL group_replication_group_name = 'a1a1a1a1-0000-4000-8000-00000000000a'")
        refused = shop.restore()
        query(shop.server, "SET GLOBAL sql_generate_invisible_primary_key = ON")
        of_engine = shop.restore()
        shop.put_dump(KEYLESS.replace("MyISAM", "InnoDB"))
        restored = shop.restore()
        assert restored.returncode == 0, restored.stderr
        assert query(shop.server, "SELECT COUNT(*) FROM shop.`of two words`") == ((3,),)
    finally:
        query(shop.server, "SET GLOBAL sql_generate_invisible_primary_key = OFF")
        query(shop.server, "UNINSTALL PLUGIN group_replication")
    assert refused.returncode == of_engine.returncode == 1
    assert "that a replication group refuses, of these tables: nothing is changed" in refused.stderr
    assert refused.stderr.splitlines()[1:] == ["`shop`.`of two words` (no primary key)", "`shop`.`old` (ENGINE=MyISAM)"]
    assert of_engine.stderr.splitlines()[1:] == ["`shop`.`old` (ENGINE=MyISAM)"]
    assert shop.objects() == before


def test_a_restore_that_fails_on_its_way_says_how_far_it_came(shop: Databases) -> None:
    shop.put_dump(KEYLESS.replace("(1),(2)", "(1),(2,3)"))
    done = shop.restore()
    assert done.returncode == 1
    assert "Column count doesn't match" in done.stderr
    assert "is restored in part: up to the table `shop`.`of two words`, of which rows may be missing" in done.stderr
    assert query(shop.server, "SELECT COUNT(*) FROM shop.keyed") == ((1,),)
