"""`images`: every image of the sandbox, built before it is needed."""

from __future__ import annotations

from pathlib import Path

from sandbox.docker import store
from sandbox.machine import requirements
from tools import packages, toolchain
from tools.toolchain import official


def run(parts: Path | None) -> int:
    """Builds what is missing and prints each image's name.

    Raises:
        SandboxError, ToolchainError, PackageError: it cannot be done; the message says why and what to do.
    """
    requirements.require()
    packages.ensure_packages(packages.SANDBOX)
    toolchain.ensure_csi()
    chosen = official.require(parts) if parts is not None else None
    store.require_docker(chosen, everything=True)
    for name in store.ensure(chosen, everything=True).names:
        print(name)
    return 0
