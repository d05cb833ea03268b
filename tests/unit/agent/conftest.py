"""S3 as moto serves it, with a server whose logs go there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.providers.moto_account import moto
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
