"""Root's password, which each start of the server sets anew, and the operator's client, which logs in with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from nomad_stateful.databases.operations import operations
from tests.mysql.databases import SERVERS
from tests.mysql.place import Place, query, stop, until_it_answers
from tests.mysql.test_first_start import prepared

pytestmark = [pytest.mark.sandbox, pytest.mark.nomad]

_LOGGED = "SELECT @@GLOBAL.gtid_executed"


def test_a_start_sets_it_and_writes_nothing_into_the_binary_log(new_place: Callable[[], Place], nomad: Path) -> None:
    place = new_place()
    task = prepared(place, nomad, *SERVERS["with GTIDs"])
    process = place.start(task)
    until_it_answers(place, process)
    query(place, "CREATE DATABASE logged")
    [logged] = query(place, _LOGGED)
    assert logged[0]
    query(place, "SET sql_log_bin = 0", "ALTER USER 'root'@'%' IDENTIFIED BY 'changed by hand'")
    stop(process)
    until_it_answers(place, place.start(task))
    assert query(place, _LOGGED) == ((logged[0],),)
    words = ("--batch", "--skip-column-names", "--execute=SELECT CURRENT_USER()")
    done = place.run(replace(task, words=("sh", "-c", operations("mysql").client, "mysql", *words)))
    assert done.stdout == "root@localhost\n", done.stderr
