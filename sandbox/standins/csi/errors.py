"""The error an RPC ends with."""

from __future__ import annotations

from functools import partial
from typing import Final

import grpc


class CsiError(Exception):
    """Ends an RPC with a gRPC status; `message` goes to the orchestrator as it is."""

    def __init__(self, code: grpc.StatusCode, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


invalid: Final = partial(CsiError, grpc.StatusCode.INVALID_ARGUMENT)
not_found: Final = partial(CsiError, grpc.StatusCode.NOT_FOUND)
internal: Final = partial(CsiError, grpc.StatusCode.INTERNAL)
failed_precondition: Final = partial(CsiError, grpc.StatusCode.FAILED_PRECONDITION)
already_exists: Final = partial(CsiError, grpc.StatusCode.ALREADY_EXISTS)
aborted: Final = partial(CsiError, grpc.StatusCode.ABORTED)
"""Another call for the same object runs; the caller tries again."""


def given(value: str, what: str) -> str:
    """What a request has in a field; INVALID_ARGUMENT where it is empty."""
    if not value:
        raise invalid(f"{what} not provided")
    return str(value)
