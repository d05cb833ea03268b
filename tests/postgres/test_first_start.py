"""Starts of the server: one that is cut off anywhere, on files of others, on a data directory that is in use."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests import closing_lines
from tests.mysql.place import stop
from tests.postgres.server import PASSWORDS, STOP_SIGNAL, Server

pytestmark = [pytest.mark.sandbox, pytest.mark.nomad]

NewServer = Callable[[], Server]
KILLS = int(os.environ.get("FIRST_START_KILLS", "4"))
"""So many first starts are killed."""
LAST = 40
# Long enough to be cut off in the middle.
INIT = {
    "10-first.sql": "CREATE TABLE t (i int PRIMARY KEY);\n",
    "20-rows.sql": "".join(f"INSERT INTO t VALUES ({row});\n" for row in range(LAST)),
    "30-last.sql": "CREATE TABLE last (i int PRIMARY KEY);\nINSERT INTO last VALUES (1);\n",
}


def assert_whole(server: Server) -> None:
    assert server.query("SELECT count(*) FROM t") == [(LAST,)]
    assert server.query("SELECT * FROM last") == [(1,)]
    assert not server.data.with_name("postgres.first-start").exists()


@pytest.mark.nightly
def test_a_first_start_killed_at_any_moment_is_whole_after_the_next(new_server: NewServer) -> None:
    first, started = new_server(), time.monotonic()
    first.running(init_scripts=INIT)
    takes = time.monotonic() - started
    assert_whole(first)
    draw = random.Random(KILLS)
    seen = closing_lines.tally("first starts of postgres that were killed")
    for _ in range(KILLS):
        server = new_server()
        for _ in range(draw.choice((1, 1, 2))):
            process = server.start(init_scripts=INIT)
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(draw.uniform(0, 1.1) * takes)
            stop(process, kill=True)
        half = server.data.with_name("postgres.first-start").exists()
        seen["half made, and made again" if half else "whole" if server.data.exists() else "before"] += 1
        process = server.running(init_scripts=INIT)
        assert_whole(server)
        assert ("did not come to its end" in server.log) or not half
        stop(process, kill=True)


@pytest.mark.nightly
def test_an_init_script_that_fails_is_not_taken_for_done_by_the_next_start(new_server: NewServer) -> None:
    server = new_server()
    for _ in range(2):
        assert server.start(init_scripts={**INIT, "15-broken.sql": "INSERT INTO nowhere VALUES (1);\n"}).wait(180) != 0
    (server.place.root / "docker-entrypoint-initdb.d/15-broken.sql").unlink()
    server.running(init_scripts=INIT)
    assert_whole(server)


@pytest.mark.nightly
def test_a_later_start_has_the_rows_and_sets_the_password(new_server: NewServer) -> None:
    server = new_server()
    process = server.running(init_scripts=INIT)
    server.query("INSERT INTO t VALUES (1000)")
    server.query("ALTER SYSTEM SET default_transaction_read_only = on")
    server.query("ALTER SYSTEM SET log_transaction_sample_rate = 1")
    server.query("ALTER ROLE postgres PASSWORD 'changed' NOLOGIN VALID UNTIL '2000-01-01'")
    for kill in (False, True):
        stop(process, kill=kill)
        process = server.running(init_scripts=INIT)
        assert server.query("SELECT i FROM t WHERE i = 1000") == [(1000,)]
    assert server.log.count("the first start is complete") == 1
    assert PASSWORDS["root_password"] not in server.log


def test_files_that_are_no_database_are_left_alone_and_the_remedy_is_told(new_server: NewServer) -> None:
    server = new_server()
    server.data.mkdir()
    (server.data / "base").write_text("somebody's")
    assert server.start().wait(60) == 1
    assert "holds files but no database. Set postgres.dataDir to a new folder" in server.log
    assert (server.data / "base").read_text() == "somebody's"


@pytest.mark.parametrize("written", ["17", "19"])
def test_files_of_another_major_version_are_refused_with_the_way_on(new_server: NewServer, written: str) -> None:
    server = new_server()
    server.data.mkdir()
    (server.data / "PG_VERSION").write_text(f"{written}\n")
    assert server.start().wait(60) == 1
    assert f"was written by PostgreSQL {written}, whose files 18 does not read" in server.log
    assert f"dump with {written}, and restore into a server of 18 on a new volume" in server.log
    assert [path.name for path in server.data.iterdir()] == ["PG_VERSION"]


@pytest.mark.nightly
def test_a_second_server_on_the_same_files_is_refused(new_server: NewServer) -> None:
    first, second = new_server(), new_server()
    process = first.running(init_scripts=INIT)
    subprocess.run(["mount", "--bind", str(first.data.parent), str(second.data.parent)], check=True)
    try:
        assert second.start().wait(60) == 1
        assert "another server runs on /srv/postgres" in second.log
        assert_whole(first)
        stop(process, kill=True)
        second.running()
        assert_whole(second)
        for one in second.place.started:
            stop(one)
    finally:
        subprocess.run(["umount", str(second.data.parent)], check=True)


@pytest.mark.parametrize("server_program", ["", "#!/bin/sh\necho 'postgres (PostgreSQL) 15.9'\n"])
def test_an_image_without_a_postgresql_that_can_be_used_is_refused(new_server: NewServer, server_program: str) -> None:
    server = new_server()
    program = server.place.root / "usr/lib/postgresql/18/bin/postgres"
    program.unlink()
    if server_program:
        program.write_text(server_program)
        program.chmod(0o755)
    assert server.start().wait(60) == 1
    assert "set postgres.image to" in server.log


@pytest.mark.nightly
def test_the_images_signal_stops_it_while_clients_are_connected(new_server: NewServer) -> None:
    server = new_server()
    process = server.running()
    with closing(server.session()):
        [child] = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        os.kill(int(child), signal.Signals[STOP_SIGNAL])
        assert process.wait(30) == 0
    assert "received fast shutdown request" in server.log
