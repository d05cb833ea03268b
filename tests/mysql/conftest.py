"""Servers of each flavour, and a root folder for each test.

The real MySQL is what stacks run: its tests run at every change. MariaDB stands in for it in a sandbox without
containers, whose own tests run it at every change; here it has its turn at night.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from sandbox.standins.mysql import rootfs
from tests.image_roots import unpack
from tests.mysql.databases import SCHEMA, SERVERS, Databases, running
from tests.mysql.place import Flavour, Place, place, query
from tests.ports import unused_port
from tools import toolchain

_ENTRYPOINTS = {"mariadb": "mysql-entrypoint", "mysql": "docker-entrypoint.sh"}


def servers(names: Iterable[str], *every_change: str) -> list[Any]:
    """Servers as parameters: some at every change, the others at night."""
    return [pytest.param(name, marks=() if name in every_change else pytest.mark.nightly) for name in names]


FLAVOURS = servers(sorted(_ENTRYPOINTS), "mysql")


@pytest.fixture(scope="session")
def nomad() -> Path:
    return toolchain.ensure().nomad


@pytest.fixture(scope="session")
def flavour_of(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Flavour]]:
    """MariaDB under the sandbox's entrypoint; MySQL under the image's."""
    folder = tmp_path_factory.mktemp("roots")
    build = {"mariadb": rootfs.build, "mysql": unpack_image}

    def found(name: str) -> Flavour:
        if not (folder / name).is_dir():
            build[name](folder / name)
        return Flavour(name, folder / name, _ENTRYPOINTS[name])

    yield found
    shutil.rmtree(folder)


def unpack_image(root: Path) -> None:
    """Unpacks the layers of the image that docker would run."""
    unpack("mysql", root)


@pytest.fixture(scope="session", params=FLAVOURS)
def flavour(request: pytest.FixtureRequest, flavour_of: Callable[[str], Flavour]) -> Flavour:
    return flavour_of(request.param)


@pytest.fixture
def new_place(flavour: Flavour, tmp_path: Path) -> Iterator[Callable[[], Place]]:
    """Makes root folders, each with a port of its own."""
    with ExitStack() as stack:
        count = iter(range(1000))
        yield lambda: stack.enter_context(place(flavour, tmp_path / str(next(count)), unused_port()))


@pytest.fixture(scope="module", params=servers(SERVERS, "mysql", "mysql without GTIDs"))
def databases(
    request: pytest.FixtureRequest,
    flavour_of: Callable[[str], Flavour],
    nomad: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Databases]:
    flavour = flavour_of(request.param.split()[0])
    with running(flavour, tmp_path_factory.mktemp("server"), nomad, *SERVERS[request.param]) as made:
        yield made


@pytest.fixture
def shop(databases: Databases) -> Databases:
    """The schema, anew, and no dump."""
    query(databases.server, "SET GLOBAL log_bin_trust_function_creators = 1", "DROP DATABASE IF EXISTS shop", *SCHEMA)
    for dump in databases.dumps:
        dump.unlink()
    return databases
