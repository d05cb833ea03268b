"""Every shell script of the project passes shellcheck."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tools import packages

TOP = Path(__file__).resolve().parents[2]


def scripts() -> list[str]:
    """The files whose first line names a shell."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=TOP, capture_output=True, text=True, check=True).stdout
    return [name for name in listed.split("\0") if name and _is_shell(TOP / name)]


def _is_shell(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        first = file.readline(80).split()
    return bool(first) and first[0].startswith(b"#!") and first[-1].rpartition(b"/")[2] in (b"sh", b"bash")


@pytest.mark.parametrize("name", scripts())
def test_a_script_passes_shellcheck(name: str) -> None:
    packages.ensure_packages([one for one in packages.TESTS if "shellcheck" in one.commands])
    done = subprocess.run(["shellcheck", name], cwd=TOP, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
