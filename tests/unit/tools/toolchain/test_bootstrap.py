"""The script that makes the virtual environment."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from sandbox.settings import PROJECT
from tests.programs import make_program

# What the script calls, besides Python.
TOOLS = ("sh", "cat", "cut", "dirname", "head", "id", "mkdir", "mktemp", "mv", "rm", "sha256sum", "tail")

# Knows just what the script asks of a Python; `-m pip --target` leaves a uv that notes how it was called.
PYTHON = """
case "$*" in
  *"-m venv"*) mkdir -p .venv/bin; cat "$0" > .venv/bin/python; chmod +x .venv/bin/python;;
  *"--target"*) while [ "$1" != --target ]; do shift; done; mkdir -p "$2/bin"
    printf '#!/bin/sh\\necho "$*" >> uv.log\\n[ ! -e fail ] || { echo no wheel >&2; exit 2; }\\n' > "$2/bin/uv"
    chmod +x "$2/bin/uv";;
  *print*sys.version*) echo 3.12;;
esac
"""


@pytest.fixture
def clone(tmp_path: Path, path_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone with the script and a lock file; a PATH with the script's tools and no Python."""
    for tool in (*TOOLS, "chmod"):
        if not (tmp_path / "system" / tool).exists():
            (tmp_path / "system" / tool).symlink_to(str(shutil.which(tool, path="/bin:/usr/bin")))
    folder = tmp_path / "clone"
    (folder / "tools").mkdir(parents=True)
    for name in ("bootstrap.sh", "uv-requirements.txt"):
        shutil.copy(PROJECT / "tools" / name, folder / "tools" / name)
    (folder / "requirements.lock").write_text("first==1\n")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return folder


def bootstrap(clone: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([clone / "tools" / "bootstrap.sh"], capture_output=True, text=True, check=False)


def test_the_environment_is_made_once(clone: Path, path_folder: Path) -> None:
    make_program(path_folder / "python3", PYTHON)
    first = bootstrap(clone)
    assert (first.returncode, first.stderr.count("bootstrap:")) == (0, 3)
    second = bootstrap(clone)
    assert (second.returncode, second.stderr) == (0, "")
    assert (clone / "uv.log").read_text().count("pip sync") == 1


def test_another_lock_file_is_installed_into_the_environment_that_is_there(clone: Path, path_folder: Path) -> None:
    make_program(path_folder / "python3", PYTHON)
    bootstrap(clone)
    (clone / "requirements.lock").write_text("second==2\n")
    again = bootstrap(clone)
    assert again.stderr == "bootstrap: installing the packages of requirements.lock\n"
    assert "--require-hashes requirements.lock" in (clone / "uv.log").read_text()


def test_a_failed_install_is_shown_and_tried_again(clone: Path, path_folder: Path) -> None:
    make_program(path_folder / "python3", PYTHON)
    (clone / "fail").touch()
    failed = bootstrap(clone)
    assert failed.returncode == 1
    assert "no wheel" in failed.stderr
    assert "error: requirements.lock could not be installed" in failed.stderr
    (clone / "fail").unlink()
    assert bootstrap(clone).returncode == 0
    assert (clone / "uv.log").read_text().count("pip sync") == 2


def test_an_old_python_is_refused_with_its_version(clone: Path, path_folder: Path) -> None:
    make_program(path_folder / "python3", '[ "$1" != --version ] || { echo Python 3.9.2; exit 0; }; exit 1')
    result = bootstrap(clone)
    assert result.returncode == 1
    assert "python3 is 'Python 3.9.2': Python 3.11 or newer must be on PATH." in result.stderr


def test_a_newer_python_under_another_name_is_used(clone: Path, path_folder: Path) -> None:
    make_program(path_folder / "python3", "exit 1")
    make_program(path_folder / "python3.12", PYTHON)
    assert bootstrap(clone).returncode == 0
