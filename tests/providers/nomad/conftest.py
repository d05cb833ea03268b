"""Fixtures: one Nomad agent for all tests, one plugin process for each."""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fake_nomad import FakeNomad, fake_nomad
from tests.providers.harness import PluginProcess, plugin_process
from tests.providers.nomad.agent import Agent, nomad_binary, running_agent
from tests.providers.plugin_path import beside_nomad


@pytest.fixture(scope="session")
def nomad() -> str:
    found = nomad_binary()
    if found is None:
        pytest.skip("no nomad on PATH or in the toolchain's cache: run python -m tools.toolchain")
    return found


@pytest.fixture(scope="session")
def agent(nomad: str) -> Iterator[Agent]:
    # not pytest's folder: a CSI plugin's socket lies deep below, and its path may have 107 characters
    with tempfile.TemporaryDirectory(prefix="nomad-") as folder, running_agent(nomad, Path(folder)) as running:
        yield running


@pytest.fixture(scope="session")
def executable(tmp_path_factory: pytest.TempPathFactory, nomad: str) -> Path:
    """The plugin as the engine would start it."""
    return beside_nomad(tmp_path_factory.mktemp("plugin"), Path(nomad).parent)


@pytest.fixture
def plugin(executable: Path, agent: Agent) -> Iterator[PluginProcess]:
    """A plugin configured for the agent."""
    with plugin_process(executable, {}) as process:
        process.configure({"address": agent.address})
        yield process


@pytest.fixture
def offline(executable: Path) -> Iterator[PluginProcess]:
    """A plugin configured for an address at which nothing listens."""
    with plugin_process(executable, {}) as process:
        process.configure({"address": "http://127.0.0.1:1"})
        yield process


@pytest.fixture
def name() -> str:
    """A name no other test uses."""
    return f"t-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def server() -> Iterator[FakeNomad]:
    """A Nomad that answers as it is told."""
    with fake_nomad() as made:
        yield made


@pytest.fixture
def faked(executable: Path, server: FakeNomad) -> Iterator[PluginProcess]:
    """A plugin configured for that one."""
    with plugin_process(executable, {}) as process:
        process.configure({"address": server.address, "secretId": "a-token"})
        yield process
