"""`env`: prints what a shell has to evaluate to work with the sandbox."""

from __future__ import annotations

import sys

from sandbox.settings import SandboxError, SandboxSettings, usage


def run(settings: SandboxSettings) -> int:
    """Prints `.sandbox/env`.

    Raises:
        SandboxError: no sandbox is running.
    """
    try:
        sys.stdout.write(settings.env_file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SandboxError(f"There is no {settings.env_file}: no sandbox is running. Run `{usage.UP}` first.") from None
    return 0
