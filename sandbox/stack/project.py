"""The folder of the Pulumi project that is deployed: what has to be in it."""

from __future__ import annotations

import sys
from pathlib import Path

from sandbox.settings import SandboxError
from sandbox.stack.stack_file import has_foreign_secrets


class ProjectError(SandboxError):
    """The folder has no such stack, or one that the sandbox must not touch."""


def require(stack_file: Path, salt: str) -> None:
    """Checks that a stack's file is there, beside Pulumi.yaml, and that its secrets are of this salt.

    Raises:
        ProjectError: they are not.
    """
    for path in (stack_file.with_name("Pulumi.yaml"), stack_file):
        if not path.is_file():
            raise ProjectError(
                f"{path} is not there. Run this in the folder of the Pulumi project (`nomad-stateful new` writes one), "
                "name another stack with --stack, or start the sandbox alone with --no-stack."
            )
    if has_foreign_secrets(stack_file, salt):
        raise ProjectError(
            f"{stack_file} holds secrets of another stack, which the sandbox's passphrase does not open. Copy it to "
            "Pulumi.NAME.yaml without `secure:`, `encryptionsalt`, `encryptedkey` and `secretsprovider`, and name that "
            "stack with --stack NAME."
        )


def ensure_environment(folder: Path) -> bool:
    """Has the project's .venv be the environment that runs this, unless there is one; says whether it was linked."""
    environment = folder / ".venv"
    if environment.exists():
        return False
    environment.unlink(missing_ok=True)
    environment.symlink_to(sys.prefix)
    return True
