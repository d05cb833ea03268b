"""A project that `nomad-stateful new` wrote, in a new environment with the wheel."""

import json
from pathlib import Path

import pytest

from tests.package.conftest import run, virtual_environment
from tools.trial.running import Running

PLAN = """
import json, yaml
from nomad_stateful.program import plan, settings
config = yaml.safe_load(open("Pulumi.dev.yaml"))["config"]
prefix = f"{settings.PROJECT}:"
known = {key.removeprefix(prefix): value for key, value in config.items() if key.startswith(prefix)}
print(json.dumps(sorted(job.spec for job in plan.of(settings.parse(known), "shop/dev").jobs)))
"""


@pytest.fixture
def project(tmp_path: Path, wheel: Path) -> Path:
    """The project, and its environment."""
    (tmp_path / "installer").mkdir()
    environment = virtual_environment(tmp_path / "installer", wheel)
    run([environment / "bin/nomad-stateful", "new", "shop", "--ci"], tmp_path)
    virtual_environment(tmp_path / "shop", wheel)
    return tmp_path / "shop"


def test_it_requires_the_wheel_it_was_written_by_and_its_settings_make_a_plan(project: Path, wheel: Path) -> None:
    assert (project / "requirements.txt").read_text() == f"nomad-stateful @ file://{wheel}\n"
    assert json.loads(run([project / ".venv/bin/python", "-c", PLAN], project)) == [
        "csi-controller",
        "csi-node",
        "database",
    ]


@pytest.mark.sandbox
@pytest.mark.engine
def test_it_previews_mysql_on_a_volume(project: Path, sandbox: Running) -> None:
    run(["pulumi", "stack", "init", "dev"], project, sandbox.env)
    shown = run(["pulumi", "preview", "--non-interactive", "--json"], project, sandbox.env)
    types = {step["newState"]["type"] for step in json.loads(shown)["steps"]}
    assert {"nomad-csi:index:VolumeRelease", "aws:ebs/volume:Volume", "nomad:index/job:Job"} <= types
