"""What the sandbox's wheel depends on: the product in the same version, and the group `sandbox` of the project."""

import tomllib
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class Dependencies(MetadataHookInterface):  # type: ignore[misc]
    """Called by the build backend."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Sets the dependencies."""
        project = tomllib.loads((Path(self.root).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
        group = project["dependency-groups"]["sandbox"]
        metadata["dependencies"] = [f"nomad-stateful=={metadata['version']}", *group]
