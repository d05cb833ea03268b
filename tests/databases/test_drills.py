"""What a drill's check finds in a restored server of every database: rows of a dump."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.databases.drilled import KINDS, Drilled
from tests.databases.dumped import Dumped
from tests.mysql.place import place
from tests.ports import unused_port
from tools import toolchain

pytestmark = [pytest.mark.sandbox, pytest.mark.nomad]


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
