"""docs/add-a-driver.md, followed literally in a copy of the project."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

TOP = Path(__file__).parents[2]
PAGE = TOP / "docs" / "add-a-driver.md"
RECORD = """
import json, sys
from tests.unit.program.recorder import record
made = record(json.load(sys.stdin))
print(json.dumps({name: resource.inputs for name, resource in made.items()}))
"""


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the program with the page's driver added."""
    for package in ("components", "jobs", "nomad_stateful", "tests"):
        shutil.copytree(TOP / package, tmp_path / package, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    for module in TOP.glob("*.py"):
        shutil.copy(module, tmp_path)
    (tmp_path / "nomad_stateful/drivers/scratch.py").write_text(blocks("python")[0])
    return tmp_path


def run(project: Path, **changes: object) -> subprocess.CompletedProcess[str]:
    config = {key.split(":")[1]: value for key, value in yaml.safe_load(blocks("yaml")[0]).items()}
    config["clientRole"] = "nomad-client"
    config["volumes"][0] |= changes
    return subprocess.run(
        [sys.executable, "-c", RECORD],
        cwd=project,
        input=json.dumps(config),
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_pages_driver_gets_a_job_and_its_volume_is_made_through_it(project: Path) -> None:
    done = run(project)
    assert done.returncode == 0, done.stderr
    made = json.loads(done.stdout)
    task = json.loads(made["plugin-scratch0-monolith"]["hcl2"]["vars"]["task"])
    assert task["args"][0] == "--drivername=scratch0"
    assert task["mounts"] == [{"source": "/var/lib/csi-scratch", "target": "/csi-data-dir"}]
    assert made["volume-cache-volume"]["pluginId"] == "scratch0"


def test_what_the_pages_driver_cannot_do_is_refused(project: Path) -> None:
    done = run(project, accessMode="multi-node-multi-writer")
    assert done.returncode != 0
    assert "the scratch driver does not support this access mode. Use single-node-writer" in done.stderr
