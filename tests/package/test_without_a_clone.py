"""A stack in the sandbox from the two wheels alone: an empty folder, a new environment, three commands, and down."""

from __future__ import annotations

import os
import re
import subprocess
import time
from pathlib import Path

import pytest

from tests import closing_lines
from tests.package.conftest import virtual_environment
from tools.trial.ground import claim
from tools.trial.running import traces
from tools.wheel import SANDBOX, TOP, build

pytestmark = [pytest.mark.sandbox, pytest.mark.nomad, pytest.mark.engine, pytest.mark.nightly]

_HIDDEN = ("AWS_", "NOMAD_", "PULUMI_", "PYTHONPATH")


class Folder:
    """A folder that holds nothing, and a shell's commands in it, each with how long it took."""

    def __init__(self, path: Path, environment: Path) -> None:
        self.path = path
        self.times: list[str] = []
        kept = {name: value for name, value in os.environ.items() if not name.startswith(_HIDDEN)}
        self._env = {**kept, "PATH": f"{environment / 'bin'}{os.pathsep}{kept['PATH']}"}

    def shell(self, command: str, status: int = 0) -> str:
        began = time.monotonic()
        done = subprocess.run(
            ["sh", "-euc", command], cwd=self.path, env=self._env, capture_output=True, text=True, check=False
        )
        said = done.stdout + done.stderr
        assert done.returncode == status, said
        self.times.append(f"{command.rpartition('nomad-stateful ')[2]} {time.monotonic() - began:.0f} s")
        return said


@pytest.fixture
def wheels(tmp_path: Path) -> list[Path]:
    """Both, as files."""
    for source in (TOP, SANDBOX):
        build(tmp_path / "dist", source)
    return sorted((tmp_path / "dist").glob("*.whl"))


def test_three_commands_in_an_empty_folder_make_a_stack_and_down_leaves_nothing(
    tmp_path: Path, wheels: list[Path]
) -> None:
    (tmp_path / "installed").mkdir()
    environment = virtual_environment(tmp_path / "installed", *wheels)
    empty, shop, ground = tmp_path / "empty", tmp_path / "empty/shop", claim()
    empty.mkdir()
    folder = Folder(empty, environment)
    folder.shell("nomad-stateful new shop")
    folder.path = shop
    (shop / "sandbox.toml").write_text(ground.config)
    try:
        said = folder.shell("nomad-stateful sandbox up")
        assert "MySQL answers at" in said
        assert "nomad-stateful sandbox down" in said
        assert (shop / ".venv").resolve() == environment
        assert "All 10 rows were read back" in folder.shell(". .sandbox/env && nomad-stateful verify")
        assert "mysql" in folder.shell("nomad-stateful sandbox status")
        assert "compute.internal" in folder.shell("nomad-stateful sandbox ctl enter client-1 hostname")
        # In the zone that MySQL is not in.
        assert "is cut off" in folder.shell("nomad-stateful sandbox ctl cut client-3")
        assert "is connected" in folder.shell("nomad-stateful sandbox ctl heal client-3")
        assert "is stopped" in folder.shell("nomad-stateful sandbox ctl stop client-3")
        assert re.search(r"client-3\t.*\toff$", folder.shell("nomad-stateful sandbox ctl list"), re.MULTILINE)
        assert "runs" in folder.shell("nomad-stateful sandbox ctl start client-3")
        # The volume is protected, here as on AWS.
        assert "protect" in folder.shell("nomad-stateful sandbox down", status=1)
        assert "running" in folder.shell(". .sandbox/env && nomad job status -short mysql-server")
        settings = (shop / "Pulumi.dev.yaml").read_text()
        (shop / "Pulumi.dev.yaml").write_text(settings.replace("sizeGib: 40 }", "sizeGib: 40, protect: false }"))
        folder.shell("nomad-stateful sandbox up")
        said = folder.shell("nomad-stateful sandbox down")
        # The final snapshot of a volume that was protected once.
        assert re.search(r"no stack knows these, they go with the sandbox: snapshot snap-[^,]+$", said, re.MULTILINE)
    finally:
        subprocess.run([environment / "bin/nomad-stateful", "sandbox", "down", "--force"], cwd=shop, check=True)
    assert {kind: left for kind, left in traces(ground.name, shop / ".sandbox").items() if left} == {}
    assert "encryptionsalt" not in (shop / "Pulumi.dev.yaml").read_text()
    closing_lines.say(f"a stack without a clone: {', '.join(folder.times)}")
