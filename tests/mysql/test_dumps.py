"""Dumps and restores by the tasks' own scripts, as the accounts that the server's job makes."""

from __future__ import annotations

import gzip
import subprocess
from pathlib import Path

import pytest

from tests.mysql.databases import MARIADB_DUMP, OBJECTS, PASSWORD, Databases, running
from tests.mysql.place import query

pytestmark = [pytest.mark.sandbox, pytest.mark.nomad]


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


def test_a_dump_restores_into_a_server_that_has_no_database(shop: Databases, nomad: Path, tmp_path: Path) -> None:
    before = shop.objects()
    assert before["rows"] == ((1, b"a"), (2, b"\x00\xff'"))
    assert shop.dump().returncode == 0
    with running(shop.server.image, tmp_path, nomad) as empty:
        empty.put_dump(MARIADB_DUMP)
        restored = empty.restore()
        assert restored.returncode == 0, restored.stderr
        assert query(empty.server, OBJECTS["rows"]) == ((11, b"eleven"),)
        query(empty.server, "DROP DATABASE shop")
        subprocess.run(["cp", str(shop.dumps[0]), str(empty.server.root / "dumps")], check=True)
        restored = empty.restore(shop.dumps[0].name)
        assert restored.returncode == 0, restored.stderr
        assert empty.objects() == before


def test_a_dump_that_sets_gtids_as_others_make_it_is_restored_without_them(shop: Databases) -> None:
    text = (
        "-- MySQL dump 10.13\nSET @MYSQLDUMP_TEMP_LOG_BIN = @@SESSION.SQL_LOG_BIN;\nSET @@SESSION.SQL_LOG_BIN= 0;\n"
        "SET @@GLOBAL.GTID_PURGED=/*!80000 '+'*/ '3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5,\n"
        "4e11fa47-71ca-11e1-9e33-c80aa9429562:1-7';\n"
        "-- Current Database: `shop`\nUSE `shop`;\nDELETE FROM orders;\nINSERT INTO orders VALUES (7, 'seven');\n"
        "-- Dump completed on 2026-01-01\n"
    )
    shop.put_dump(text)
    restored = shop.restore()
    assert restored.returncode == 0, restored.stderr
    assert query(shop.server, OBJECTS["rows"]) == ((7, b"seven"),)


def test_a_restore_while_a_dump_runs_breaks_neither(shop: Databases) -> None:
    rows = ", ".join(f"({number}, REPEAT('x', 20))" for number in range(3, 60000))
    query(shop.server, f"INSERT INTO shop.orders VALUES {rows}")
    assert shop.dump().returncode == 0
    name, before = shop.dumps[0].name, shop.objects()
    dumping = shop.start("dump", "dump", PASSWORD, KEEP="7")
    restored = shop.restore(name)
    dumping.wait(120)
    assert restored.returncode == 0, restored.stderr
    assert shop.objects() == before
    for dump in shop.dumps:
        assert gzip.decompress(dump.read_bytes()).rstrip().splitlines()[-1].startswith(b"-- Dump completed")
        assert shop.restore(dump.name).returncode == 0
        assert shop.objects() == before
