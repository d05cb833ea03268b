"""Snapshots of a volume as of a point in time, which are taken of another volume that it was restored to."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from nomad_stateful.ebs import tags
from nomad_stateful.ebs.tags import AS_OF_TAG, RESTORED_TAG

Described = Mapping[str, Any]
"""A snapshot as EC2 describes it."""


def source(snapshot: Described) -> str:
    """Returns the id of the EBS volume whose data a snapshot has."""
    return tags.read(snapshot).get(RESTORED_TAG) or str(snapshot["VolumeId"])


def is_of(snapshot: Described, volume_id: str, made_from: str) -> bool:
    """Returns whether a snapshot has data of this EBS volume, or is the one that it was made from ("" if from none)."""
    return source(snapshot) == volume_id or (bool(made_from) and snapshot["SnapshotId"] == made_from)


def as_of(snapshot: Described) -> datetime:
    """Returns until when a snapshot has what was written, in UTC: its point in time, else when it was begun."""
    moment, began = tags.read(snapshot).get(AS_OF_TAG), snapshot["StartTime"]
    return (datetime.fromisoformat(moment) if moment else began).astimezone(UTC)
