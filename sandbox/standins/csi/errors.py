"""The error an RPC ends with."""

from __future__ import annotations

import grpc


class CsiError(Exception):
    """Ends an RPC with a gRPC status; `message` goes to the orchestrator as it is."""

    def __init__(self, code: grpc.StatusCode, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def invalid(message: str) -> CsiError:
    """INVALID_ARGUMENT."""
    return CsiError(grpc.StatusCode.INVALID_ARGUMENT, message)


def given(value: str, what: str) -> str:
    """What a request has in a field; INVALID_ARGUMENT where it is empty."""
    if not value:
        raise invalid(f"{what} not provided")
    return str(value)


def not_found(message: str) -> CsiError:
    """NOT_FOUND."""
    return CsiError(grpc.StatusCode.NOT_FOUND, message)


def internal(message: str) -> CsiError:
    """INTERNAL."""
    return CsiError(grpc.StatusCode.INTERNAL, message)


def failed_precondition(message: str) -> CsiError:
    """FAILED_PRECONDITION."""
    return CsiError(grpc.StatusCode.FAILED_PRECONDITION, message)


def already_exists(message: str) -> CsiError:
    """ALREADY_EXISTS."""
    return CsiError(grpc.StatusCode.ALREADY_EXISTS, message)


def aborted(message: str) -> CsiError:
    """ABORTED: another call for the same object runs; the caller tries again."""
    return CsiError(grpc.StatusCode.ABORTED, message)
