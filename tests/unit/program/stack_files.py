"""The stacks that the project shows: the sandbox's, that of a real account, and those of examples/."""

from pathlib import Path
from typing import Any

import yaml

from nomad_stateful.program import settings

TOP = Path(__file__).parents[3]
FILES = [TOP / "Pulumi.dev.yaml", TOP / "Pulumi.aws.yaml.example", *sorted((TOP / "examples").glob("Pulumi.*.yaml"))]


def stack(file: Path) -> dict[str, Any]:
    """Returns the configuration in a stack's file, with ids where it has placeholders."""
    text = file.read_text(encoding="utf-8").replace("snap-EXAMPLE", "snap-0123456789abcdef0")
    prefix = f"{settings.PROJECT}:"
    config = yaml.safe_load(text)["config"].items()
    return {key.removeprefix(prefix): value for key, value in config if key.startswith(prefix)}
