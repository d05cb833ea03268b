"""The benchmark's own program: the engine finds its Python, and that has the SDK."""

from pathlib import Path

import yaml

_ROOT = Path(__file__).parents[4]


def test_its_environment_is_the_projects() -> None:
    folder = _ROOT / "tools/bench/plain"
    project = yaml.safe_load((folder / "Pulumi.yaml").read_text(encoding="utf-8"))

    assert (folder / project["runtime"]["options"]["virtualenv"]).resolve() == (_ROOT / ".venv").resolve()
