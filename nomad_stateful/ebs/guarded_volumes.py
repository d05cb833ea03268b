"""EC2's volumes and snapshots, found by the tag of their guard."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from nomad_stateful.ebs import tags
from nomad_stateful.ebs.ec2_client import AwsPlace, ec2_client, prove_absence
from nomad_stateful.ebs.tags import FINAL_TAG, GUARD_TAG, LEFT_TAG, SNAPSHOTS_TAG, STACK_TAG
from nomad_stateful.errors import ProviderError

_ALIVE = ["creating", "available", "in-use", "error"]


class GuardedVolumes:
    """Volumes and snapshots by guard, in one account and region."""

    def __init__(self, place: AwsPlace) -> None:
        self._place = place
        self._client: Any = ec2_client(place)

    def find(self, guard_id: str) -> Mapping[str, Any] | None:
        """Returns EC2's description of the guard's volume; None where there is none. Raises ProviderError."""
        filters = [_guarded_by(guard_id), {"Name": "status", "Values": _ALIVE}]
        found: list[Mapping[str, Any]] = self._call("describe_volumes", Filters=filters)["Volumes"]
        if not found:
            prove_absence(self._place, f"a volume of guard {guard_id}")
        return found[0] if found else None

    def of_stack(self, stack: str) -> list[Mapping[str, Any]]:
        """Returns EC2's descriptions of the volumes with a stack's tag. Raises ProviderError."""
        tagged = {"Name": f"tag:{STACK_TAG}", "Values": [stack]}
        alive = {"Name": "status", "Values": _ALIVE}
        pages = self._client.get_paginator("describe_volumes").paginate(Filters=[tagged, alive])
        return list(self._checked("describe_volumes", lambda: [one for page in pages for one in page["Volumes"]]))

    def exists(self, volume_id: str) -> bool:
        """Returns whether EC2 still has a volume. Raises ProviderError."""
        return bool(self._described(volume_id, volume_id))

    def _described(self, volume_id: str, what: str) -> list[Mapping[str, Any]]:
        named = {"Name": "volume-id", "Values": [volume_id]}
        found: list[Mapping[str, Any]] = self._call(
            "describe_volumes", Filters=[named, {"Name": "status", "Values": _ALIVE}]
        )["Volumes"]
        if not found:
            prove_absence(self._place, f"volume {what}")
        return found

    def earlier_final_snapshots(self, volume_id: str) -> dict[str, str]:
        """Returns the states of earlier deletions' snapshots by id; the volume may have been written to since."""
        marked = {"Name": f"tag:{FINAL_TAG}", "Values": [volume_id]}
        found = self._call("describe_snapshots", OwnerIds=["self"], Filters=[marked])["Snapshots"]
        return {str(one["SnapshotId"]): str(one["State"]) for one in found if one["State"] != "error"}

    def begin_final_snapshot(self, volume_id: str, name: str) -> str:
        """Starts a snapshot and returns its id; "" where the volume is gone. Raises ProviderError."""
        found = self._described(volume_id, f"{volume_id} ({name})")
        if not found:
            return ""
        own = tags.listed({**tags.of_snapshot(tags.read(found[0])), "Name": name, FINAL_TAG: volume_id})
        made = self._call(
            "create_snapshot",
            VolumeId=volume_id,
            Description=f"{name} ({volume_id}) before it was deleted",
            TagSpecifications=[{"ResourceType": "snapshot", "Tags": own}],
        )
        return str(made["SnapshotId"])

    def snapshot(self, snapshot_id: str) -> Mapping[str, Any] | None:
        """Returns EC2's description of a snapshot; None where there is none. Raises ProviderError."""
        named = {"Name": "snapshot-id", "Values": [snapshot_id]}
        found: list[Mapping[str, Any]] = self._call("describe_snapshots", Filters=[named])["Snapshots"]
        return found[0] if found else None

    def leave(self, volume_id: str, name: str) -> None:
        """Takes the stack's tags off a volume that stays in AWS, and notes whose it was. Raises ProviderError."""
        found = self._described(volume_id, f"{volume_id} ({name})")
        if not found:
            return
        stack = tags.read(found[0]).get(STACK_TAG)
        if stack:
            self._call("create_tags", Resources=[volume_id], Tags=tags.listed({LEFT_TAG: f"{stack}/{name}"}))
        # Nothing may adopt it, nor take its snapshots on schedule, beside the volume that took its place.
        self._call("delete_tags", Resources=[volume_id], Tags=[{"Key": STACK_TAG}, {"Key": SNAPSHOTS_TAG}])

    def snapshot_progress(self, snapshot_id: str) -> str:
        """Returns "completed", or how much is copied. Raises ProviderError, also if the snapshot failed."""
        snapshot = self._call("describe_snapshots", SnapshotIds=[snapshot_id])["Snapshots"][0]
        if snapshot["State"] == "error":
            raise ProviderError(f"snapshot {snapshot_id} failed: {snapshot.get('StateMessage', 'EC2 gives no reason')}")
        return "completed" if snapshot["State"] == "completed" else f"{snapshot.get('Progress') or '0%'} copied"

    def _call(self, operation: str, **arguments: Any) -> Any:
        return self._checked(operation, lambda: getattr(self._client, operation)(**arguments))

    def _checked(self, operation: str, call: Callable[[], Any]) -> Any:
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            return call()
        except (BotoCoreError, ClientError) as error:
            raise ProviderError(f"EC2 does not answer {operation}: {error}") from error


def _guarded_by(guard_id: str) -> dict[str, Any]:
    return {"Name": f"tag:{GUARD_TAG}", "Values": [guard_id]}
