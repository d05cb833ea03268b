"""Root's password, which each start of the server sets anew."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.mysql.place import Flavour, Place, query, stop, until_it_answers
from tests.mysql.test_first_start import prepared

pytestmark = [pytest.mark.sandbox, pytest.mark.nomad]

# What of the binary logs is a server's own to say.
_LOGGED = {"mysql": "@@GLOBAL.gtid_executed", "mariadb": "@@GLOBAL.gtid_binlog_pos"}
_ARGS = {"mysql": ["--gtid-mode=ON", "--enforce-gtid-consistency=ON"], "mariadb": ["--log-bin=binlog"]}


def test_a_start_sets_it_and_writes_nothing_into_the_binary_log(
    new_place: Callable[[], Place], nomad: Path, flavour: Flavour
) -> None:
    place = new_place()
    task = prepared(place, nomad, args=_ARGS[flavour.name])
    process = place.start(task)
    until_it_answers(place, process)
    query(place, "CREATE DATABASE logged")
    [logged] = query(place, f"SELECT {_LOGGED[flavour.name]}")
    assert logged[0]
    query(place, "SET sql_log_bin = 0", "ALTER USER 'root'@'%' IDENTIFIED BY 'changed by hand'")
    stop(process)
    until_it_answers(place, place.start(task))
    assert query(place, f"SELECT {_LOGGED[flavour.name]}") == ((logged[0],),)
