"""A stack of a test's own on the real Pulumi engine, with plugins that the test chooses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tools import toolchain

_TIMEOUT_S = 300


class Stack:
    """The pulumi command on a project, state and home of its own."""

    def __init__(
        self, folder: Path, program: str, plugins: Mapping[str, Path] = {}, env: Mapping[str, str] = {}
    ) -> None:
        found = toolchain.find()
        if found is None:
            pytest.skip("no Pulumi in the toolchain's cache: run python -m tools.toolchain")
        self.state = folder / "state"
        self._project = folder / "project"
        for name in ("project", "state", "home"):
            (folder / name).mkdir()
        (self._project / "__main__.py").write_text(program)
        providers = [{"name": name, "path": str(path.parent)} for name, path in plugins.items()]
        runtime = {"name": "python", "options": {"virtualenv": sys.prefix}}
        project = {"name": "trial", "runtime": runtime, "plugins": {"providers": providers}}
        (self._project / "Pulumi.yaml").write_text(yaml.safe_dump(project))
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("AWS_", "NOMAD_", "PULUMI_"))}
        self.env = {
            **kept,
            "PATH": f"{found.bin_dir}:{os.environ['PATH']}",
            "PULUMI_HOME": str(folder / "home"),
            "PULUMI_BACKEND_URL": f"file://{self.state}",
            "PULUMI_CONFIG_PASSPHRASE": "trial",
            "PULUMI_SKIP_UPDATE_CHECK": "1",
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
            "NOMAD_STATEFUL_PYTHON": sys.executable,
            **env,
        }
        self.run("stack", "init", "dev")

    def run(self, *words: str, fails: bool = False, env: Mapping[str, str] = {}) -> str:
        """One command's output, both streams."""
        done = subprocess.run(
            ["pulumi", "--non-interactive", *words],
            cwd=self._project,
            env={**self.env, **env},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
        assert (done.returncode != 0) == fails, done.stdout
        return done.stdout

    def configure(self, values: Mapping[str, Any]) -> None:
        """Makes these the stack's whole configuration, as `pulumi config set` would one by one."""
        path = self._project / "Pulumi.dev.yaml"
        known = yaml.safe_load(path.read_text())
        path.write_text(yaml.safe_dump({**known, "config": dict(values)}))

    def file(self, name: str, text: str) -> str:
        """Writes a file beside the program, and returns its path."""
        path = self._project / name
        path.write_text(text)
        return str(path)

    def outputs(self) -> dict[str, Any]:
        """The stack's outputs, secrets too."""
        result: dict[str, Any] = json.loads(self.run("stack", "output", "--json", "--show-secrets"))
        return result
