"""Which snapshots are of a volume's data: what a failover goes on from, and what a drill restores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from nomad_stateful.ebs.restored import as_of, is_of
from nomad_stateful.ebs.tags import STACK_TAG

Snapshot = Mapping[str, Any]
"""As EC2 describes it."""


def complete_of(ec2: Any, volume_id: str, made_from: str) -> list[Snapshot]:
    """Returns the complete snapshots of an EBS volume, and the one that it was made from ("" if from none).

    That one is all there is until the first is taken of the volume itself.
    """
    own = [{"Name": "volume-id", "Values": [volume_id]}]
    origin = [{"Name": "snapshot-id", "Values": [made_from]}]
    found = _complete(ec2, own) + (_complete(ec2, origin) if made_from else [])
    return [one for one in found if is_of(one, volume_id, made_from)]


def complete_of_name(ec2: Any, name: str, stack: str) -> list[Snapshot]:
    """Returns the complete snapshots of the EBS volumes that ever had a name in a stack (PROJECT/STACK)."""
    named = {"Name": "tag:Name", "Values": [name]}
    return _complete(ec2, [named, {"Name": f"tag:{STACK_TAG}", "Values": [stack]}])


def newest(found: Iterable[Snapshot], before: datetime | None = None) -> Snapshot | None:
    """Returns the snapshot with the newest data, of those that were begun before a time; None if there is none."""
    wanted = [one for one in found if before is None or one["StartTime"] <= before]
    return max(wanted, key=as_of, default=None)


def _complete(ec2: Any, filters: list[dict[str, Any]]) -> list[Snapshot]:
    pages = ec2.get_paginator("describe_snapshots").paginate(OwnerIds=["self"], Filters=filters)
    return [one for page in pages for one in page["Snapshots"] if one["State"] == "completed"]
