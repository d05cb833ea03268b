"""Programs that run one of the project's modules, wherever they are called from."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from sandbox.settings import CODE


def launcher(module: str, *arguments: str) -> str:
    """Returns a shell script that runs the module with these arguments and its own."""
    words = ["exec", "env", f"PYTHONPATH={CODE}", sys.executable, "-m", module, *arguments]
    return f'#!/bin/sh\n{shlex.join(words)} "$@"\n'


def write_launcher(path: Path, module: str) -> None:
    """Writes such a script as a program."""
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    path.write_text(launcher(module), encoding="utf-8")
    path.chmod(0o755)
