"""What a drill's check finds in a restored server: nothing to check, rows, a damaged page."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from nomad_stateful.databases.postgres import POSTGRES
from nomad_stateful.databases.postgres.operations import OPERATIONS
from tests.mysql.place import Task, stop
from tests.postgres.server import DATA, ENV, PASSWORD, Server

pytestmark = [pytest.mark.sandbox, pytest.mark.nomad, pytest.mark.nightly]

DRILL = OPERATIONS.drill


def check(server: Server, newest: str = "") -> list[list[str]]:
    """The fields of each line of the check's task."""
    socket = f"/alloc/postgres/.s.PGSQL.{server.place.port}"
    files = {"local/drill.sh": DRILL.script, **({"local/newest.sql": newest} if newest else {})}
    client = POSTGRES.socket_client(socket, "postgres", PASSWORD)
    files |= {f"${{NOMAD_SECRETS_DIR}}/{name}": text for name, text in client.files.items()}
    env = {**ENV, **client.env, "START_SOCKET": socket, "DRILL_PATIENCE": "30"}
    task = Task(files, ["sh", "/local/drill.sh"], env)
    server.place.put(task, {})
    done = server.place.run(task)
    return [line.split("\t")[1:] for line in done.stdout.splitlines() if line.startswith("drill\t")]


def test_it_counts_rows_finds_a_damaged_page_and_fails_where_there_is_no_table(
    new_server: Callable[[], Server],
) -> None:
    server = new_server()
    process = server.start(*DRILL.quiet)
    server.until_it_answers(process)
    server.query("CREATE SCHEMA nomad_stateful")
    server.query("CREATE TABLE nomad_stateful.verification (i int)")
    assert check(server)[-1] == ["failed", "the restored server has no table: nothing is proven"]
    server.query("CREATE DATABASE shop")
    for statement in ("CREATE TABLE orders (id int PRIMARY KEY, t text)", "CREATE TABLE notes (id int)"):
        server.query(statement, database="shop")
    server.query("INSERT INTO orders SELECT n, E'a\\nb' FROM generate_series(1, 5000) n", database="shop")
    lines = check(server, "SELECT max(id) FROM public.orders")
    assert ["table", "shop.public.orders", "5000", "OK"] in lines
    assert ["table", "shop.public.notes", "0", "OK"] in lines
    assert lines[-2:] == [["newest", "5000"], ["done"]]
    [(path,)] = server.query("SELECT pg_relation_filepath('orders')", database="shop")
    stop(process)
    with (server.place.root / DATA.lstrip("/") / path).open("r+b") as file:
        file.seek(3 * 8192 + 4000)
        file.write(b"damaged")
    server.until_it_answers(server.start(*DRILL.quiet))
    [(_, rows, status)] = [line[1:] for line in check(server) if line[:2] == ["table", "shop.public.orders"]]
    assert rows == "-"
    assert "invalid page in block 3" in status
