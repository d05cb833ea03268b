"""S3 as moto serves it, with a server whose logs go there."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nomad_stateful.databases.mysql.gtids import Origin
from tests.providers.moto_account import moto
from tests.unit.agent.members import GROUP, Group
from tests.unit.agent.world import FakeServer, World, client_of, emptied


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with moto() as url:
        yield client_of(url)


@pytest.fixture
def s3(client: Any) -> Any:
    return emptied(client)


@pytest.fixture
def world(s3: Any, tmp_path: Path) -> World:
    server = FakeServer(tmp_path / "data")
    server.start()
    return World(server, s3)


@pytest.fixture
def new_server(tmp_path: Path) -> Callable[..., FakeServer]:
    def made(name: str, **more: Any) -> FakeServer:
        server = FakeServer(tmp_path / name, uuid.uuid5(GROUP, name), group=Origin(GROUP), **more)
        server.start()
        return server

    return made


@pytest.fixture
def group(s3: Any, new_server: Callable[..., FakeServer]) -> Group:
    members = {name: World(new_server(name), s3, f"of-{name}", name) for name in ("m-1", "m-2", "m-3")}
    found = Group(members)
    found.elect("m-1")
    found.tick(0)
    return found
