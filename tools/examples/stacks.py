"""A working copy of `examples/`, and Pulumi run in it."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import yaml

from sandbox.settings import PROJECT, SandboxError, SandboxSettings
from sandbox.stack.environment import process_environment
from sandbox.stack.stack import Stack
from tools.toolchain import Toolchain

FOLDER = PROJECT / "examples"


@dataclass(frozen=True)
class Workplace:
    """Where the examples' stacks are run: a copy, so that what Pulumi writes into the files stays out of the clone."""

    settings: SandboxSettings
    tools: Toolchain

    @property
    def folder(self) -> Path:
        return self.settings.home / "examples"

    def prepare(self) -> None:
        """Copies the files, with their paths made absolute."""
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(FOLDER, self.folder, ignore=shutil.ignore_patterns("package-*"))
        project = yaml.safe_load((FOLDER / "Pulumi.yaml").read_text(encoding="utf-8"))
        project["main"] = str(PROJECT)
        project["runtime"]["options"]["virtualenv"] = str(PROJECT / ".venv")
        for plugin in project["plugins"]["providers"]:
            plugin["path"] = str(PROJECT / "nomad_stateful/provider")
        (self.folder / "Pulumi.yaml").write_text(yaml.safe_dump(project, sort_keys=False), encoding="utf-8")

    def fill_in(self, stack: str, values: dict[str, str]) -> None:
        """Replaces what a user would replace in a stack's file."""
        path = self.folder / f"Pulumi.{stack}.yaml"
        text = path.read_text(encoding="utf-8")
        for placeholder, value in values.items():
            text = text.replace(placeholder, value)
        path.write_text(text, encoding="utf-8")

    def stack(self, name: str) -> Stack:
        """A stack of the copy, made if it is not there yet."""
        stack = Stack(self.settings, self.tools, name, self.folder)
        stack.ensure()
        return stack

    def environment(self) -> dict[str, str]:
        """The sandbox's environment with the management token: checks look at everything."""
        env = process_environment(self.settings, self.tools.bin_dir)
        token = (self.settings.nomad_dir / "management.token").read_text(encoding="utf-8").strip()
        return {**env, "NOMAD_TOKEN": token, "NOMAD_OPERATOR_TOKEN": token, "PYTHONPATH": str(PROJECT)}

    def run(self, *command: str, stdin: str = "") -> str:
        """What a command prints, run in the copy. Raises SandboxError when it fails."""
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment(),
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise SandboxError(f"`{' '.join(command)}` failed:\n{done.stdout}{done.stderr}")
        return done.stdout

    def operate(self, stack: str, command: str, *words: str) -> str:
        """What an operator's command prints about a stack. Raises SandboxError when it fails."""
        python = os.fspath(PROJECT / ".venv" / "bin" / "python")
        return self.run(python, "-m", "nomad_stateful.operate", command, "--stack", stack, *words)
