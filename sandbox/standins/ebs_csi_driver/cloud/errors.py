"""What can go wrong with EC2, sorted by what the caller can do about it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum, auto
from typing import Final


class Kind(Enum):
    """Sorts of failure."""

    NOT_FOUND = auto()
    NO_INSTANCE = auto()
    """The instance to attach to does not exist."""
    NO_SOURCE = auto()
    """The snapshot to restore from does not exist."""
    ALREADY_EXISTS = auto()
    IN_USE = auto()
    INVALID = auto()
    LIMIT = auto()
    DENIED = auto()
    UNAVAILABLE = auto()
    TIMEOUT = auto()
    OTHER = auto()


class CloudError(Exception):
    """An EC2 call failed; `aws_code` is EC2's own name for it, where it gave one."""

    def __init__(self, kind: Kind, message: str, aws_code: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.aws_code = aws_code


_BY_CODE: Final = {
    "InvalidVolume.NotFound": Kind.NOT_FOUND,
    "InvalidVolumeID.Malformed": Kind.NOT_FOUND,
    "InvalidVolumeID.ZoneMismatch": Kind.INVALID,
    "InvalidVolume.ZoneMismatch": Kind.INVALID,
    "InvalidInstanceID.NotFound": Kind.NO_INSTANCE,
    "InvalidInstanceID.Malformed": Kind.NO_INSTANCE,
    "InvalidSnapshot.NotFound": Kind.NOT_FOUND,
    "InvalidSnapshotID.Malformed": Kind.NOT_FOUND,
    "InvalidAttachment.NotFound": Kind.NOT_FOUND,
    "IdempotentParameterMismatch": Kind.ALREADY_EXISTS,
    "VolumeInUse": Kind.IN_USE,
    "InvalidSnapshot.InUse": Kind.IN_USE,
    "IncorrectState": Kind.IN_USE,
    "AttachmentLimitExceeded": Kind.LIMIT,
    "VolumeLimitExceeded": Kind.LIMIT,
    "SnapshotLimitExceeded": Kind.LIMIT,
    "MaxIOPSLimitExceeded": Kind.LIMIT,
    "InsufficientVolumeCapacity": Kind.LIMIT,
    "VolumeModificationRateExceeded": Kind.LIMIT,
    "UnauthorizedOperation": Kind.DENIED,
    "AccessDenied": Kind.DENIED,
    "AccessDeniedException": Kind.DENIED,
    "AuthFailure": Kind.DENIED,
    "RequestLimitExceeded": Kind.UNAVAILABLE,
    "Throttling": Kind.UNAVAILABLE,
    "ThrottlingException": Kind.UNAVAILABLE,
    "ServiceUnavailable": Kind.UNAVAILABLE,
    "Unavailable": Kind.UNAVAILABLE,
    "InternalError": Kind.UNAVAILABLE,
}


def kind_of(aws_code: str) -> Kind:
    """The sort of failure an EC2 error code stands for."""
    if kind := _BY_CODE.get(aws_code):
        return kind
    if aws_code.startswith(("InvalidParameter", "MissingParameter", "UnknownVolumeType", "ValidationError")):
        return Kind.INVALID
    return Kind.OTHER


@contextmanager
def translated() -> Iterator[None]:
    """Turns botocore's exceptions of the block into CloudError."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        yield
    except ClientError as error:
        details = error.response.get("Error", {})
        code, text = details.get("Code", ""), details.get("Message", "")
        operation = error.operation_name
        raise CloudError(kind_of(code), f"{operation}: {code}: {text}", code) from None
    except BotoCoreError as error:
        raise CloudError(Kind.UNAVAILABLE, f"EC2 cannot be asked: {error}") from None


@contextmanager
def dry_run() -> Iterator[None]:
    """Takes EC2's word that it would have done it for an answer."""
    try:
        yield
    except CloudError as error:
        if error.aws_code != "DryRunOperation":
            raise
