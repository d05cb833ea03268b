"""A server of each database with its accounts, and the tasks that dump and restore it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path

import pytest

from tests.databases.dumped import Dumped
from tests.image_roots import unpack
from tests.mysql import databases as mysql
from tests.postgres import dumps as postgres
from tools import toolchain

_Running = Callable[[Path, Path, Path], AbstractContextManager[Dumped]]


def _mysql(options: Sequence[str]) -> _Running:
    return lambda image, folder, nomad: mysql.running(image, folder, nomad, *options)


SERVERS: dict[str, _Running] = {
    **{f"mysql {name}": _mysql(options) for name, options in mysql.SERVERS.items()},
    "postgres": postgres.running,
}


@pytest.fixture(scope="session")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Path]]:
    """Returns a database's image, unpacked, by its name."""
    folder = tmp_path_factory.mktemp("images")

    @cache
    def unpacked(name: str) -> Path:
        unpack(name, folder / name)
        return folder / name

    yield unpacked
    shutil.rmtree(folder)


@pytest.fixture(scope="module", params=SERVERS)
def server(
    request: pytest.FixtureRequest, image: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Dumped]:
    folder, nomad = tmp_path_factory.mktemp("server"), toolchain.ensure().nomad
    with SERVERS[request.param](image(request.param.partition(" ")[0]), folder, nomad) as made:
        yield made


@pytest.fixture
def shop(server: Dumped) -> Dumped:
    """The database shop as it is at first, and no dump."""
    server.fill()
    return server
