"""The wheel has all of the program: its story and its command run where there is no clone."""

import json
import shutil
from pathlib import Path

import pytest
import yaml

from nomad_stateful.program import settings
from tests.package.conftest import run, virtual_environment
from tests.unit.program import recorder

TOP = Path(__file__).parents[2]
STORY = """
import json, sys
import recorder
config = json.loads(open(sys.argv[1]).read())
print(json.dumps(sorted(recorder.record(config))))
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Path:
    """A new environment with the wheel and what it depends on."""
    return virtual_environment(tmp_path_factory.mktemp("environment"), wheel)


def test_the_story_of_the_sandboxs_stack_is_the_same_from_the_wheel(tmp_path: Path, environment: Path) -> None:
    prefix = f"{settings.PROJECT}:"
    stack = yaml.safe_load((TOP / "Pulumi.dev.yaml").read_text(encoding="utf-8"))["config"].items()
    config = {key.removeprefix(prefix): value for key, value in stack if key.startswith(prefix)}
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "story.py").write_text(STORY)
    shutil.copy(TOP / "tests/unit/program/recorder.py", tmp_path)
    names = json.loads(run([environment / "bin/python", "story.py", "config.json"], tmp_path))
    assert names == sorted(recorder.record(config))
    assert "mysql-job" in names


def test_the_wheel_brings_the_operators_command(tmp_path: Path, environment: Path) -> None:
    shown = run([environment / "bin/nomad-stateful", "--help"], tmp_path)
    assert "usage: nomad-stateful" in shown
    assert "upgrade-mysql" in shown
