"""The error an RPC ends with."""

from __future__ import annotations

import grpc

from .cloud.errors import CloudError, Kind

_CODES: dict[Kind, grpc.StatusCode] = {
    Kind.NOT_FOUND: grpc.StatusCode.NOT_FOUND,
    Kind.ALREADY_EXISTS: grpc.StatusCode.ALREADY_EXISTS,
    Kind.IN_USE: grpc.StatusCode.FAILED_PRECONDITION,
    Kind.INVALID: grpc.StatusCode.INVALID_ARGUMENT,
    Kind.LIMIT: grpc.StatusCode.RESOURCE_EXHAUSTED,
    Kind.DENIED: grpc.StatusCode.PERMISSION_DENIED,
    Kind.UNAVAILABLE: grpc.StatusCode.UNAVAILABLE,
    Kind.TIMEOUT: grpc.StatusCode.DEADLINE_EXCEEDED,
    Kind.OTHER: grpc.StatusCode.INTERNAL,
}


class CsiError(Exception):
    """Ends an RPC with a gRPC status; `message` goes to the orchestrator as it is."""

    def __init__(self, code: grpc.StatusCode, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message

    @classmethod
    def from_cloud(cls, error: CloudError, doing: str) -> CsiError:
        """The status for an EC2 failure; `doing` says what was tried."""
        return cls(_CODES[error.kind], f"{doing}: {error}")


def invalid(message: str) -> CsiError:
    """INVALID_ARGUMENT."""
    return CsiError(grpc.StatusCode.INVALID_ARGUMENT, message)


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
