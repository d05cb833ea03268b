"""What a drill's check finds in a restored server of every database: rows, a damaged page, a dump."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nomad_stateful.operate.database import SCHEMA, TABLE
from tests.databases.drilled import KINDS, Drilled
from tests.databases.dumped import Dumped
from tests.mysql.place import place
from tests.ports import unused_port
from tools import toolchain

pytestmark = [pytest.mark.sandbox, pytest.mark.nomad]

ROWS = 5000


@pytest.fixture(params=KINDS)
def drilled(request: pytest.FixtureRequest, image: Callable[[str], Path], tmp_path: Path) -> Iterator[Drilled]:
    """A server whose data directory is empty."""
    with place(image(request.param), tmp_path, unused_port()) as made:
        yield KINDS[request.param](made, toolchain.ensure().nomad)


@pytest.mark.nightly
def test_each_row_is_counted_and_the_newest_is_said(drilled: Drilled) -> None:
    drilled.start()
    assert drilled.tables(drilled.check()) == {}
    drilled.fill(ROWS)
    lines = drilled.check(drilled.newest)
    assert lines[0][0] == "answers"
    assert drilled.tables(lines) == {drilled.orders: (str(ROWS), "OK"), drilled.notes: ("0", "OK")}
    assert ["checking", drilled.orders] in lines
    assert lines[-2:] == [["newest", str(ROWS)], ["done"]]


@pytest.mark.nightly
def test_a_damaged_page_is_told_with_its_table(drilled: Drilled) -> None:
    process = drilled.start()
    drilled.fill(ROWS)
    drilled.damage(process)
    rows, status = drilled.tables(drilled.check())[drilled.orders]
    assert rows == "-"
    assert drilled.harm in status


@pytest.mark.nightly
def test_what_verify_made_is_no_table_of_anybodys(drilled: Drilled) -> None:
    drilled.start()
    for statement in (f"CREATE SCHEMA {SCHEMA}", f"CREATE TABLE {TABLE} (i int)"):
        drilled.query(statement)
    lines = drilled.check()
    assert any("verification" in words[1] for words in lines if words[0] == "table")
    assert drilled.tables(lines) == {}
    assert lines[-1] == ["done"]


@pytest.fixture
def empty(shop: Dumped, image: Callable[[str], Path], tmp_path: Path) -> Iterator[Drilled]:
    """A server with nothing in it, to load a dump of another one."""
    with place(image(shop.database), tmp_path, unused_port()) as made:
        found = KINDS[shop.database](made, toolchain.ensure().nomad)
        found.start()
        yield found


@pytest.mark.parametrize("server", ["mysql with GTIDs", "postgres"], indirect=True)
def test_a_dump_is_loaded_with_every_row_and_one_that_does_not_load_says_why(shop: Dumped, empty: Drilled) -> None:
    assert shop.dump().returncode == 0
    (name,) = shop.names
    content = (shop.folder / name).read_bytes()
    for harmed, reason in ((content[: len(content) // 2], "is not whole"), empty.refused):
        *_, loading, (kind, why) = empty.check(dump=empty.put(name, harmed))
        assert (loading, kind) == (["loading"], "unloaded")
        assert reason in why
    lines = empty.check(dump=empty.put(name, content))
    assert lines[1:3] == [["loading"], ["loaded"]]
    assert empty.tables(lines)[empty.orders] == ("2", "OK")
    assert lines[-1] == ["done"]
