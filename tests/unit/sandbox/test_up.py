"""What `up` needs of the machine, and what it can do without."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from sandbox.commands import up
from sandbox.commands.phases import Phases
from sandbox.docker import machine_daemon, store
from sandbox.settings import parse_settings
from sandbox.standins.nas import openssh
from tools import packages, toolchain

TOOLS, IMAGES = SimpleNamespace(said=lambda: "tools"), SimpleNamespace(names={"mysql:9.7.4": ""})


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Commands that this machine does not have, nor a way to install them."""
    missing: set[str] = set()
    which = shutil.which
    monkeypatch.setattr(packages, "find_command", lambda name: None if name in missing else f"/bin/{name}")
    monkeypatch.setattr(shutil, "which", lambda name, **rest: None if name == "apt-get" else which(name, **rest))
    monkeypatch.setattr(openssh, "ensure", lambda: None)
    monkeypatch.setattr(toolchain, "ensure_csi", lambda: None)
    monkeypatch.setattr(store, "require_docker", lambda *_, **__: None)
    monkeypatch.setattr(store, "of_sandbox", lambda *_, **__: IMAGES)
    monkeypatch.setattr(machine_daemon, "version", lambda: "Docker version 0")
    monkeypatch.setattr(toolchain, "ensure", lambda: TOOLS)
    return missing


def tools(home: Path) -> tuple[object, object]:
    return up._tools(parse_settings({}, home), up.Options("auto", ""), Phases("up"))


def test_a_machine_without_nft_runs_a_sandbox(tmp_path: Path, without: set[str]) -> None:
    without.add("nft")
    assert tools(tmp_path) == (TOOLS, IMAGES)


def test_a_machine_without_links_does_not(tmp_path: Path, without: set[str]) -> None:
    without.add("ip")
    with pytest.raises(packages.PackageError, match="ip for the instances' network"):
        tools(tmp_path)
