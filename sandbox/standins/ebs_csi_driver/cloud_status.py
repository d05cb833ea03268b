"""The gRPC status that stands for a failure of EC2."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import grpc

from sandbox.standins.csi.errors import CsiError
from sandbox.standins.ebs_csi_driver.cloud.errors import CloudError, Kind

_CODES: dict[Kind, grpc.StatusCode] = {
    Kind.ALREADY_EXISTS: grpc.StatusCode.ALREADY_EXISTS,
    Kind.NO_INSTANCE: grpc.StatusCode.NOT_FOUND,
    Kind.NO_SOURCE: grpc.StatusCode.NOT_FOUND,
    Kind.TIMEOUT: grpc.StatusCode.DEADLINE_EXCEEDED,
}


@contextmanager
def cloud(doing: str) -> Iterator[None]:
    """Ends an RPC with EC2's failure, INTERNAL for nearly all, as upstream; `doing` says what was tried."""
    try:
        yield
    except CloudError as error:
        raise CsiError(_CODES.get(error.kind, grpc.StatusCode.INTERNAL), f"{doing}: {error}") from None
