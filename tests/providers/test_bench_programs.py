"""The benchmark's own programs start: the engine finds their Python, and that has the SDK."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tools import toolchain

_ROOT = Path(__file__).parents[2]
_BENCH = _ROOT / "tools/bench"


@pytest.mark.parametrize("name", ["empty", "plain"])
def test_its_environment_is_the_projects(name: str) -> None:
    project = yaml.safe_load((_BENCH / name / "Pulumi.yaml").read_text(encoding="utf-8"))

    virtualenv = (_BENCH / name / project["runtime"]["options"]["virtualenv"]).resolve()

    assert virtualenv == (_ROOT / ".venv").resolve()


def test_the_empty_one_is_previewed(tmp_path: Path) -> None:
    found = toolchain.find()
    if found is None:
        pytest.skip("no Pulumi in the toolchain's cache: run python -m tools.toolchain")
    # A place of its own, since a new stack gets a file of settings.
    program = tmp_path / "project/tools/bench/empty"
    shutil.copytree(_BENCH / "empty", program)
    (tmp_path / "project/.venv").symlink_to(sys.prefix)
    env = {
        "HOME": str(tmp_path),
        "PATH": f"{found.bin_dir}:{os.environ['PATH']}",
        "PULUMI_HOME": str(tmp_path / "home"),
        "PULUMI_BACKEND_URL": f"file://{tmp_path}",
        "PULUMI_CONFIG_PASSPHRASE": "trial",
        "PULUMI_SKIP_UPDATE_CHECK": "1",
    }

    def pulumi(*words: str) -> str:
        command = ["pulumi", "--non-interactive", *words]
        done = subprocess.run(command, cwd=program, env=env, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    pulumi("stack", "init", "empty")

    assert "Resources:" in pulumi("preview", "--stack", "empty")
