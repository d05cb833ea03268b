"""The nomad-csi plugin, running against a fake Nomad, and a real Nomad for tests that need one."""

from collections.abc import Iterator

import pytest

from tests.fake_nomad import FakeNomad, fake_nomad
from tests.providers.harness import PluginProcess, plugin_process
from tests.providers.moto_account import environment
from tests.providers.nomad.agent import Agent, nomad_binary, running_agent
from tests.providers.plugin_path import plugin_path

EXECUTABLE = plugin_path("nomad-csi")
# An AWS that does not answer, and no look around for another one.
NO_AWS = environment("http://127.0.0.1:9")


@pytest.fixture
def nomad() -> Iterator[FakeNomad]:
    with fake_nomad() as fake:
        yield fake


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    """A Nomad of the module's own."""
    found = nomad_binary()
    if found is None:
        pytest.skip("no nomad on PATH or in the toolchain's cache: run python -m tools.toolchain")
    with running_agent(found, tmp_path_factory.mktemp("nomad")) as running:
        yield running


@pytest.fixture
def plugin(nomad: FakeNomad) -> Iterator[PluginProcess]:
    with plugin_process(EXECUTABLE, {"NOMAD_ADDR": nomad.address, "NOMAD_TOKEN": "t0ken"} | NO_AWS) as process:
        process.configure()
        yield process
