"""Hatchling's hook: puts the packages into the wheel under one name."""

import importlib.util
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

HERE = Path(__file__).resolve().parent


class OneName(BuildHookInterface):  # type: ignore[misc]
    """Renames in a temporary folder; the sources stay as they are."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - the interface
        """Called before the wheel is filled."""
        # Not imported by name: a backend runs this file on its own.
        spec = importlib.util.spec_from_file_location("rename", HERE / "rename.py")
        if spec is None or spec.loader is None:
            raise RuntimeError("package/wheel/rename.py cannot be read. Build from a complete checkout")
        rename = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(rename)
        self._made = tempfile.TemporaryDirectory(prefix="nomad-stateful-wheel-")
        for name, text in rename.shipped(Path(self.root)):
            path = Path(self._made.name) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            build_data["force_include"][str(path)] = name

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        """Called after it."""
        self._made.cleanup()
