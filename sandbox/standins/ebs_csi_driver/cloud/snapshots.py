"""EBS snapshots."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from sandbox.standins.ebs_csi_driver.cloud.client import Ec2
from sandbox.standins.ebs_csi_driver.cloud.errors import CloudError, Kind, translated

if TYPE_CHECKING:
    from mypy_boto3_ec2.type_defs import SnapshotTypeDef

NAME_TAG: Final = "CSIVolumeSnapshotName"


@dataclass(frozen=True)
class Snapshot:
    """A snapshot as EC2 describes it."""

    snapshot_id: str
    volume_id: str
    size_gib: int
    created: datetime
    ready: bool


def _snapshot(raw: SnapshotTypeDef) -> Snapshot:
    return Snapshot(
        snapshot_id=raw["SnapshotId"],
        volume_id=raw.get("VolumeId", ""),
        size_gib=int(raw.get("VolumeSize") or 0),
        created=raw.get("StartTime") or datetime.fromtimestamp(0, UTC),
        ready=raw.get("State") == "completed",
    )


class Snapshots:
    """The snapshots of one account and region."""

    def __init__(self, ec2: Ec2) -> None:
        self._ec2 = ec2

    def get(self, snapshot_id: str) -> Snapshot:
        """One snapshot; CloudError NOT_FOUND when there is none of this id."""
        with translated():
            found = self._ec2.client.describe_snapshots(SnapshotIds=[snapshot_id])["Snapshots"]
        if not found:
            raise CloudError(Kind.NOT_FOUND, f"snapshot {snapshot_id} does not exist")
        return _snapshot(found[0])

    def find_by_name(self, name: str) -> Snapshot | None:
        """The snapshot that carries this name tag; CloudError when several do."""
        found = self._list([{"Name": f"tag:{NAME_TAG}", "Values": [name]}])
        if len(found) > 1:
            ids = ", ".join(item.snapshot_id for item in found)
            raise CloudError(Kind.OTHER, f"multiple snapshots are named {name}: {ids}")
        return found[0] if found else None

    def list_all(self, volume_id: str = "") -> list[Snapshot]:
        """This account's snapshots, of one volume or of all, oldest first."""
        return self._list([{"Name": "volume-id", "Values": [volume_id]}] if volume_id else [])

    def _list(self, filters: list[Any]) -> list[Snapshot]:
        with translated():
            pages = self._ec2.client.get_paginator("describe_snapshots").paginate(OwnerIds=["self"], Filters=filters)
            found = [_snapshot(raw) for page in pages for raw in page["Snapshots"]]
        return sorted(found, key=lambda item: (item.created, item.snapshot_id))

    def create(self, volume_id: str, tags: Mapping[str, str]) -> Snapshot:
        """Starts a snapshot of a volume; CloudError NOT_FOUND when there is no such volume."""
        tag_list: list[Any] = [{"Key": key, "Value": value} for key, value in tags.items()]
        with translated():
            made = self._ec2.client.create_snapshot(
                VolumeId=volume_id,
                Description=f"Created by AWS EBS CSI driver for volume {volume_id}",
                TagSpecifications=[{"ResourceType": "snapshot", "Tags": tag_list}],
            )
        return self.get(made["SnapshotId"])

    def delete(self, snapshot_id: str) -> None:
        """Deletes a snapshot; CloudError NOT_FOUND when there is none, IN_USE while an image needs it."""
        with translated():
            self._ec2.client.delete_snapshot(SnapshotId=snapshot_id)
