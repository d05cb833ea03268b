"""Servers of each flavour, and a root folder for each test."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from sandbox import toolchain
from sandbox.mysql import rootfs
from tests.mysql.place import Flavour, Place, place

MYSQL_ROOT = os.environ.get("NOMAD_STATEFUL_MYSQL_ROOT", "")


@pytest.fixture(scope="session")
def nomad() -> Path:
    return toolchain.ensure().nomad


FLAVOURS = ["mariadb", *(["mysql"] if MYSQL_ROOT else [])]


@pytest.fixture(scope="session")
def flavour_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Flavour]:
    """MariaDB under the sandbox's entrypoint; MySQL under the image's."""

    def found(name: str) -> Flavour:
        if name == "mysql":
            return Flavour(name, Path(MYSQL_ROOT), "docker-entrypoint.sh")
        root = tmp_path_factory.getbasetemp() / "mariadb"
        rootfs.build(root)
        return Flavour(name, root, "mysql-entrypoint")

    return found


@pytest.fixture(scope="session", params=FLAVOURS)
def flavour(request: pytest.FixtureRequest, flavour_of: Callable[[str], Flavour]) -> Flavour:
    return flavour_of(request.param)


@pytest.fixture
def new_place(flavour: Flavour, tmp_path: Path) -> Iterator[Callable[[], Place]]:
    """Makes root folders, each with a port of its own."""
    with ExitStack() as stack:
        count = iter(range(1000))
        yield lambda: stack.enter_context(place(flavour, tmp_path / str(next(count)), free_port()))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
