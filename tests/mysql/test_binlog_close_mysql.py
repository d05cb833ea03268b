"""What closes the binary logs, beside MySQL itself: which of its values it takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.mysql.place import ROOT_PASSWORD, Flavour, Place, Task, place, query, server_task, task, until_it_answers
from tests.ports import unused_port
from tools.trial.running import eventually

pytestmark = [pytest.mark.sandbox, pytest.mark.nomad]

_GTIDS = ("--gtid-mode=ON", "--enforce-gtid-consistency=ON")


@pytest.fixture
def server(flavour_of: Callable[[str], Flavour], nomad: Path, tmp_path: Path) -> Iterator[Place]:
    with place(flavour_of("mysql"), tmp_path, unused_port()) as made:
        found = server_task(nomad, made.flavour, args=list(_GTIDS))
        made.put(found, {"root_password": ROOT_PASSWORD})
        until_it_answers(made, made.start(found))
        yield made


def closer(server: Place, nomad: Path) -> Task:
    """Its task, as root, whose password the test knows."""
    where = {"bucket": "b", "prefix": "", "region": "", "endpoint": "", "image": "", "memory_mib": 64}
    found = task(nomad, "mysql", "binlog-close", {"binlogs": {**where, "account": "root", "interval_s": 1}})
    return Task(found.files, found.args, found.env)


def test_a_value_that_is_set_while_it_runs_holds_it_until_it_is_set_back(server: Place, nomad: Path) -> None:
    found = closer(server, nomad)
    server.put(found, {"password_root": ROOT_PASSWORD})
    (server.root / "alloc/data").mkdir()
    closed = server.root / "alloc/data/closed"
    server.start(found)

    def goes_on() -> None:
        before = closed.read_text() if closed.exists() else ""
        eventually(lambda: (closed.exists() and closed.read_text() != before) or None, 30, "it goes on", said)

    def said() -> str:
        return server.log.read_text()[-2000:]

    goes_on()
    assert closed.read_text().split()[1] == query(server, "SELECT @@server_uuid")[0][0]
    for name, how, value, needed in (
        ("gtid_mode", "GLOBAL", "ON_PERMISSIVE", "ON"),
        ("sync_binlog", "PERSIST", "0", "1"),
        ("innodb_flush_log_at_trx_commit", "GLOBAL", "2", "1"),
        ("binlog_format", "GLOBAL", "MIXED", "ROW"),
    ):
        query(server, f"SET {how} {name} = {value}")
        eventually(lambda wrong=f"runs with {name}={value}": wrong in said() or None, 30, name, said)  # type: ignore[misc]
        query(server, f"SET {how} {name} = {needed}")
        goes_on()
