"""What `up` needs of the machine, and what it can do without."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from sandbox.commands import up
from sandbox.commands.phases import Phases
from sandbox.settings import parse_settings
from sandbox.standins.nas import openssh
from tools import packages, toolchain


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Commands that this machine does not have, nor a way to install them."""
    missing: set[str] = set()
    which = shutil.which
    monkeypatch.setattr(packages, "find_command", lambda name: None if name in missing else f"/bin/{name}")
    monkeypatch.setattr(shutil, "which", lambda name, **rest: None if name == "apt-get" else which(name, **rest))
    monkeypatch.setattr(openssh, "ensure", lambda: None)
    monkeypatch.setattr(toolchain, "ensure", lambda: SimpleNamespace(bin_dir=Path("/bin"), said=lambda: "tools"))
    return missing


def test_a_machine_without_nft_runs_a_sandbox(tmp_path: Path, without: set[str]) -> None:
    without.add("nft")
    assert up._tools(parse_settings({}, tmp_path), Phases("up")).bin_dir == Path("/bin")


def test_a_machine_without_links_does_not(tmp_path: Path, without: set[str]) -> None:
    without.add("ip")
    with pytest.raises(packages.PackageError, match="ip for the instances' network"):
        up._tools(parse_settings({}, tmp_path), Phases("up"))
