"""Errors of the sandbox's EC2."""

from __future__ import annotations

from sandbox.settings import SandboxError


class CloudError(SandboxError):
    """The local cloud cannot do what was asked on this machine; the text names what, why and the remedy."""


class ApiError(Exception):
    """What EC2 answers instead of a result: its error code and a message for the caller."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
