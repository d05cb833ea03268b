"""`images`: every image of the sandbox, pulled or built before it is needed."""

from __future__ import annotations

from pathlib import Path

from sandbox.docker import store
from sandbox.machine import requirements
from sandbox.settings import SandboxSettings
from tools import packages, toolchain
from tools.toolchain import official


def run(settings: SandboxSettings, parts: Path | None) -> int:
    """Pulls and builds what is missing and prints each image's name.

    Raises:
        SandboxError, ToolchainError, PackageError: it cannot be done; the message says why and what to do.
    """
    requirements.require()
    packages.ensure_packages(packages.SANDBOX)
    toolchain.ensure_csi()
    chosen = official.require(parts) if parts is not None else None
    store.require_docker(settings, chosen, store.EVERY_IMAGE)
    for name in store.ensure(settings, chosen, store.EVERY_IMAGE).names:
        print(name)
    return 0
