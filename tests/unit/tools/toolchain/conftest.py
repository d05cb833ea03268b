"""A cache and a PATH of the test's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.toolchain import cache


@pytest.fixture
def toolchain_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    root = cache.toolchain_root()
    root.mkdir(parents=True)
    return root


@pytest.fixture
def path_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder on PATH besides the shell's own commands, which the programs below call."""
    folder = tmp_path / "on-path"
    folder.mkdir()
    system = tmp_path / "system"
    system.mkdir()
    for name in ("sh", "cat", "cp", "chmod"):
        (system / name).symlink_to(f"/bin/{name}")
    monkeypatch.setenv("PATH", f"{folder}:{system}")
    return folder
