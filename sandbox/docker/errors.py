"""What goes wrong with docker in the sandbox, in a sentence for whoever runs it."""

from __future__ import annotations

from sandbox.settings import SandboxError


class DockerError(SandboxError):
    """An image cannot be built or the daemon does not run; the message says why and what to do."""
