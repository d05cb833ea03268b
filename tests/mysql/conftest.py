"""The image that stacks run, unpacked, and a root folder over it for each test."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.image_roots import unpack
from tests.mysql.databases import SERVERS, Databases, running
from tests.mysql.place import Place, place
from tests.ports import unused_port
from tools import toolchain


@pytest.fixture(scope="session")
def nomad() -> Path:
    return toolchain.ensure().nomad


@pytest.fixture(scope="session")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The layers of the image that docker would run, in one folder."""
    folder = tmp_path_factory.mktemp("image")
    unpack("mysql", folder / "mysql")
    yield folder / "mysql"
    shutil.rmtree(folder)


@pytest.fixture
def new_place(image: Path, tmp_path: Path) -> Iterator[Callable[[], Place]]:
    """Makes root folders, each with a port of its own."""
    with ExitStack() as stack:
        count = iter(range(1000))
        yield lambda: stack.enter_context(place(image, tmp_path / str(next(count)), unused_port()))


@pytest.fixture(scope="module", params=SERVERS)
def databases(
    request: pytest.FixtureRequest, image: Path, nomad: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Databases]:
    with running(image, tmp_path_factory.mktemp("server"), nomad, *SERVERS[request.param]) as made:
        yield made


@pytest.fixture
def shop(databases: Databases) -> Databases:
    """The schema, anew, and no dump."""
    databases.fill()
    return databases
