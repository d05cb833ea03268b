"""The stacks of examples/ are configurations that the program accepts."""

from pathlib import Path

import pytest
import yaml

from nomad_stateful.program import settings

FILES = sorted((Path(__file__).parents[3] / "examples").glob("Pulumi.*.yaml"))


def test_there_is_an_example_for_each_driver() -> None:
    stacks = [yaml.safe_load(file.read_text())["config"] for file in FILES]
    used = {plugin["driver"] for stack in stacks for plugin in stack["nomad-stateful:plugins"]}
    assert used == {"ebs", "efs", "democratic-csi", "hostpath"}


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_an_example_is_accepted(file: Path) -> None:
    text = file.read_text().replace("snap-EXAMPLE", "snap-0123456789abcdef0")
    prefix = f"{settings.PROJECT}:"
    config = yaml.safe_load(text)["config"].items()
    settings.parse({key.removeprefix(prefix): value for key, value in config if key.startswith(prefix)})
