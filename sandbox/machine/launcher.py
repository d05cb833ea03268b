"""Programs that run one of the project's modules, wherever they are called from."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

from sandbox.settings import PROJECT


def launcher(module: str, *arguments: str, env: Mapping[str, str] | None = None) -> str:
    """Returns a shell script that runs the module with these arguments and its own."""
    variables = [f"{name}={value}" for name, value in {"PYTHONPATH": str(PROJECT), **(env or {})}.items()]
    return f'#!/bin/sh\n{shlex.join(["exec", "env", *variables, sys.executable, "-m", module, *arguments])} "$@"\n'


def write_launcher(path: Path, module: str, env: Mapping[str, str] | None = None) -> None:
    """Writes such a script as a program."""
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    path.write_text(launcher(module, env=env), encoding="utf-8")
    path.chmod(0o755)
