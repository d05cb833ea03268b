"""The agent's copies of a real server's binary logs, and what a restore reads of them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from nomad_stateful.agent.copies.copier import Copier
from nomad_stateful.agent.copies.model import HeldError
from nomad_stateful.agent.server import MySqlServer, ServerError
from nomad_stateful.databases.mysql.archive import FOLDER, Facts, Until
from nomad_stateful.databases.mysql.gtids import GtidSet
from nomad_stateful.ebs.bucket import Bucket
from nomad_stateful.operate.point_in_time import logs
from nomad_stateful.operate.point_in_time.logs import PointInTimeError
from nomad_stateful.operate.point_in_time.replay import replay
from tests.mysql.place import (
    DATA,
    ROOT_PASSWORD,
    Place,
    Task,
    place,
    query,
    server_task,
    stop,
    until_it_answers,
)
from tests.ports import unused_port
from tests.providers.moto_account import moto
from tests.unit.agent.world import BUCKET, client_of, emptied

pytestmark = [pytest.mark.sandbox, pytest.mark.nomad]

PREFIX = "db/"
GTIDS = ("--gtid-mode=ON", "--enforce-gtid-consistency=ON")


@dataclass
class Server:
    """A server, and an agent beside it, which logs in by its socket."""

    place: Place
    task: Task
    s3: Any

    def start(self) -> None:
        until_it_answers(self.place, self.place.start(self.task))

    def agent(self, allocation: str) -> Copier:
        options = self.place.root / "secrets/agent.cnf"
        socket = self.place.root / "alloc/mysql/mysql.sock"
        options.write_text(f"[client]\nuser = root\nsocket = {socket}\npassword = {ROOT_PASSWORD}\n")
        datadir = self.place.root / DATA.lstrip("/")
        return Copier(MySqlServer(options), datadir, Bucket(self.s3, BUCKET), PREFIX + FOLDER, allocation)

    def executed(self) -> GtidSet:
        [(text,)] = query(self.place, "SELECT @@GLOBAL.gtid_executed")
        return GtidSet.parse(text)


@pytest.fixture
def server(image: Path, nomad: Path, tmp_path: Path) -> Iterator[Server]:
    with moto() as url, place(image, tmp_path, unused_port()) as made:
        task = server_task(nomad, *GTIDS)
        made.put(task, {"root_password": ROOT_PASSWORD})
        found = Server(made, task, emptied(client_of(url)))
        found.start()
        yield found


def copied(copier: Copier) -> Until:
    return copier.round(datetime.now(UTC).replace(microsecond=0))


def until_next_second() -> None:
    began = int(time.time())
    while int(time.time()) == began:
        time.sleep(0.01)


# PyMySQL leaves the socket of a refused connection to the garbage collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_what_it_says_of_the_logs_is_what_the_server_says(server: Server) -> None:
    copier = server.agent("one")
    query(server.place, "CREATE DATABASE shop", "CREATE TABLE shop.orders (id INT PRIMARY KEY)")
    said = copied(copier)
    assert said.gtids == server.executed()
    base = datetime.now(UTC)
    until_next_second()
    other = "99a35885-e83b-11f1-8e64-02fc00000001"
    query(
        server.place,
        *("SET gtid_next = 'AUTOMATIC:orders'", "INSERT INTO shop.orders VALUES (1)"),
        *(f"SET gtid_next = '{other}:7'", "INSERT INTO shop.orders VALUES (2)", "SET gtid_next = 'AUTOMATIC'"),
        "INSERT INTO shop.orders VALUES (3)",
    )
    executed = server.executed()
    said = copied(copier)
    assert said.gtids == executed
    found = Facts.of_metadata(server.s3.head_object(Bucket=BUCKET, Key=said.newest)["Metadata"])
    assert found is not None
    assert (found.ends, found.opened_by_rotation, found.closed_by_rotation) == (executed, True, True)
    assert len(found.own) == 3

    # Nothing is written, and the log stays open; then the server starts anew.
    assert copied(copier).newest == said.newest
    stop(server.place.started[-1], kill=True)
    with pytest.raises(ServerError):
        copied(copier)
    server.start()
    query(server.place, "INSERT INTO shop.orders VALUES (4)")
    until_next_second()
    said = copied(server.agent("two"))
    assert (said.gtids, said.writer) == (server.executed(), "two")
    stored = logs.stored(Bucket(server.s3, BUCKET), PREFIX)
    assert stored.until == said.moment
    assert replay(stored, base, said.moment).wanted == server.executed()


WRONG = (
    ("gtid_mode", "GLOBAL", "ON_PERMISSIVE", "ON"),
    ("sync_binlog", "PERSIST", "0", "1"),
    ("innodb_flush_log_at_trx_commit", "GLOBAL", "2", "1"),
    ("binlog_format", "GLOBAL", "MIXED", "ROW"),
)


def test_a_value_that_is_set_while_it_runs_holds_it_until_it_is_set_back(server: Server) -> None:
    copier = server.agent("one")
    query(server.place, "CREATE DATABASE shop")
    said = copied(copier)
    for name, how, value, needed in WRONG:
        query(server.place, f"SET {how} {name} = {value}", f"CREATE DATABASE {name}")
        with pytest.raises(HeldError, match=f"runs with {name}={value} and needs {name}={needed}"):
            copied(copier)
        assert logs.stored(Bucket(server.s3, BUCKET), PREFIX).until == said.moment
        query(server.place, f"SET {how} {name} = {needed}")
        until_next_second()
        said = copied(copier)
        assert said.gtids == server.executed()
    query(server.place, "FLUSH BINARY LOGS", "CREATE DATABASE lost", "FLUSH BINARY LOGS")
    query(server.place, "PURGE BINARY LOGS BEFORE NOW() + INTERVAL 1 DAY")
    with pytest.raises(HeldError, match="transactions are lost"):
        copied(copier)


def test_transactions_without_a_gtid_are_copied_and_not_restored(server: Server) -> None:
    """As from before the server's settings were made."""
    copier = server.agent("one")
    query(server.place, "CREATE DATABASE shop")
    copied(copier)
    base = datetime.now(UTC)
    until_next_second()
    query(server.place, *(f"SET GLOBAL gtid_mode = {mode}" for mode in ("ON_PERMISSIVE", "OFF_PERMISSIVE")))
    query(server.place, "CREATE DATABASE anonymous")
    query(server.place, *(f"SET GLOBAL gtid_mode = {mode}" for mode in ("ON_PERMISSIVE", "ON")))
    assert copied(copier).gtids == server.executed()
    # From its own snapshot on they are whole again.
    query(server.place, "FLUSH BINARY LOGS")
    until_next_second()
    snapshot = datetime.now(UTC)
    query(server.place, "CREATE DATABASE more")
    until_next_second()
    said = copied(server.agent("one"))
    stored = logs.stored(Bucket(server.s3, BUCKET), PREFIX)
    assert replay(stored, snapshot, said.moment).wanted == server.executed()
    with pytest.raises(PointInTimeError, match="has a transaction without a GTID"):
        replay(stored, base, said.moment)


def test_logs_that_begin_anew_hold_it(server: Server) -> None:
    copier = server.agent("one")
    query(server.place, "CREATE DATABASE shop", "CREATE DATABASE more")
    said = copied(copier)
    until_next_second()
    query(server.place, "RESET BINARY LOGS AND GTIDS", *(f"CREATE DATABASE other_{number}" for number in range(3)))
    for allocation in ("one", "two"):
        with pytest.raises(HeldError, match="transactions are lost"):
            copied(server.agent(allocation))
    with pytest.raises(HeldError, match="transactions are lost"):
        copied(copier)
    assert logs.stored(Bucket(server.s3, BUCKET), PREFIX).until == said.moment
