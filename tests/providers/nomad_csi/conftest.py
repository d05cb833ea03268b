"""The nomad-csi plugin, running against a fake Nomad."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.providers.fake_nomad import FakeNomad, fake_nomad
from tests.providers.harness import PluginProcess, plugin_process

EXECUTABLE = Path(__file__).resolve().parents[3] / "provider" / "pulumi-resource-nomad-csi"


@pytest.fixture
def nomad() -> Iterator[FakeNomad]:
    with fake_nomad() as fake:
        yield fake


@pytest.fixture
def plugin(nomad: FakeNomad) -> Iterator[PluginProcess]:
    with plugin_process(EXECUTABLE, {"NOMAD_ADDR": nomad.address, "NOMAD_TOKEN": "t0ken"}) as process:
        process.configure()
        yield process
