"""The rules about jobs use the nomad command of the toolchain."""

import os

import pytest

from tools import toolchain


@pytest.fixture
def nomad(monkeypatch: pytest.MonkeyPatch) -> None:
    """The nomad command is on PATH."""
    found = toolchain.find()
    if found is None:
        pytest.skip("needs the nomad binary of the toolchain")
    monkeypatch.setenv("PATH", str(found.bin_dir), prepend=os.pathsep)
