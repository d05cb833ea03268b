"""The agent's image, as a task runs it: no shell, a root that is only read, a user that is nobody there."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from nomad_stateful.agent.__main__ import COMMANDS
from tests.image_roots import unpack

pytestmark = [pytest.mark.sandbox]

MYSQL = "999"
_READ_ONLY = 'mount --bind "$1" "$1"; mount -o remount,bind,ro "$1"; shift; exec "$@"'


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("image") / "root"
    unpack("nomad-stateful-agent", path)
    yield path
    subprocess.run(["rm", "-rf", str(path)], check=True)


def run(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Runs the image's entrypoint without capabilities."""
    inside = ["chroot", f"--userspec={MYSQL}:{MYSQL}", str(root), "nomad-stateful-agent", *words]
    command = ["unshare", "--mount", "sh", "-ec", _READ_ONLY, "run", str(root), *inside]
    return subprocess.run(
        command, env={"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin"}, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_what_it_imports(root: Path, command: str) -> None:
    done = run(root, command, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"usage: nomad-stateful-agent {command}")


def test_it_says_what_it_cannot_do_without_writing_anywhere(root: Path) -> None:
    done = run(root, "upload-dumps", "--folder=/nowhere", "--bucket=b")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: ")
    assert "/nowhere" in done.stderr or "region" in done.stderr
