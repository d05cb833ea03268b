"""The gRPC status that stands for a failure of EC2."""

from __future__ import annotations

import grpc

from sandbox.csi.errors import CsiError

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


def from_cloud(error: CloudError, doing: str) -> CsiError:
    """The error an RPC ends with; `doing` says what was tried."""
    return CsiError(_CODES[error.kind], f"{doing}: {error}")
