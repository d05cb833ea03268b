"""Clients of a real server that is killed, and of one that comes back on older files: the judge finds the second."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pymysql
import pytest

from tests.mysql.place import DATA, ROOT_PASSWORD, Place, server_task, stop, until_it_answers
from tools.faults.clients import Clients
from tools.faults.writer import Served, Writer
from tools.histories.statements import MYSQL

pytestmark = [pytest.mark.sandbox, pytest.mark.nomad]


class Local(Served):
    """The server at a port of this machine."""

    def __init__(self, port: int) -> None:
        super().__init__(cast("Any", None))
        self.port = port

    def _connect(self) -> pymysql.Connection[pymysql.cursors.Cursor]:
        return pymysql.connect(host="127.0.0.1", port=self.port, user="root", password=ROOT_PASSWORD, read_timeout=30)


@contextlib.contextmanager
def writing(place: Place, folder: Path) -> Iterator[Writer]:
    database = Local(place.port)
    writer = Writer(database, folder, clients=Clients(database.connected, MYSQL, pause_s=0.005))
    writer.begin()
    try:
        yield writer
    finally:
        writer.end()


def test_a_kill_loses_nothing_and_older_files_are_found_out(
    new_place: Callable[[], Place], nomad: Path, tmp_path: Path
) -> None:
    place = new_place()
    task = server_task(nomad)
    place.put(task, {"root_password": ROOT_PASSWORD})
    files, copy = place.root / DATA.lstrip("/"), tmp_path / "copy"
    process = place.start(task)
    until_it_answers(place, process)
    with writing(place, tmp_path / "histories") as writer:
        writer.await_new(60, 120)
        stop(process, kill=True)
        subprocess.run(["cp", "-a", files, copy], check=True)
        until_it_answers(place, process := place.start(task))
        writer.await_new(20, 120)
        assert writer.lost() == set()
        assert writer.contradictions() == []
        [verdict] = writer.verdicts.values()
        assert verdict.counts["ok"] > 200
        assert verdict.counts["reads"] > 50
        stop(process, kill=True)
        for path in files.iterdir():
            subprocess.run(["rm", "-r", path], check=True)
        subprocess.run(["cp", "-a", f"{copy}/.", files], check=True)
        until_it_answers(place, process := place.start(task))
        writer.await_new(20, 120)
        lost = writer.lost()
        [said] = writer.contradictions()
    assert lost
    assert f"  lost: list rows: {min(lost)} was acknowledged" in said
    assert "  lost: register " in said or "  lost: list " in said.replace("  lost: list rows", "")
