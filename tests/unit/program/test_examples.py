"""The stacks of examples/ are configurations that the program accepts."""

from pathlib import Path

import pytest

from nomad_stateful.program import settings
from tests.unit.program.stack_files import FILES, stack

EXAMPLES = [file for file in FILES if file.parent.name == "examples"]


def test_there_is_an_example_for_each_driver() -> None:
    stacks = [settings.parse(stack(file)) for file in EXAMPLES]
    assert {plugin.driver for one in stacks for plugin in one.plugins} == {"ebs", "efs", "democratic-csi", "hostpath"}


@pytest.mark.parametrize("file", EXAMPLES, ids=[file.stem for file in EXAMPLES])
def test_an_example_is_accepted(file: Path) -> None:
    settings.parse(stack(file))
