"""What the EC2 types have in common: time stamps and tags of things with an EC2 id."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sandbox.standins.plugins.aws.errors import aws_errors
from sandbox.standins.plugins.aws.tags import changes, plain_tags, to_aws

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client


def rfc3339(moment: datetime) -> str:
    """Returns a moment as RFC 3339 in UTC, to the second: "2025-11-21T01:59:00Z"."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def retag(ec2: EC2Client, id: str, old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> None:
    """Change the tags of an EC2 object from `old` to `new`, leaving tags in neither alone."""
    to_set, to_remove = changes(plain_tags(old), plain_tags(new))
    with aws_errors(f"updating tags of {id}"):
        if to_remove:
            ec2.delete_tags(Resources=[id], Tags=[{"Key": key} for key in to_remove])
        if to_set:
            ec2.create_tags(Resources=[id], Tags=to_aws(to_set))  # type: ignore[arg-type]
