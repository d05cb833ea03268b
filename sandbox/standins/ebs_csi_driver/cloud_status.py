"""The gRPC status that stands for a failure of EC2."""

from __future__ import annotations

import grpc

from sandbox.standins.csi.errors import CsiError
from sandbox.standins.ebs_csi_driver.cloud.errors import CloudError, Kind

_CODES: dict[Kind, grpc.StatusCode] = {
    Kind.ALREADY_EXISTS: grpc.StatusCode.ALREADY_EXISTS,
    Kind.NO_INSTANCE: grpc.StatusCode.NOT_FOUND,
    Kind.NO_SOURCE: grpc.StatusCode.NOT_FOUND,
    Kind.TIMEOUT: grpc.StatusCode.DEADLINE_EXCEEDED,
}


def from_cloud(error: CloudError, doing: str) -> CsiError:
    """The error an RPC ends with, INTERNAL for nearly all, as upstream; `doing` says what was tried."""
    return CsiError(_CODES.get(error.kind, grpc.StatusCode.INTERNAL), f"{doing}: {error}")
