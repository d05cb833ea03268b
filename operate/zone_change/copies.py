"""Snapshots on which a volume moves, and EC2's word on the volume that stays."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from nomad_stateful.ebs import tags
from nomad_stateful.ebs.restored import source
from nomad_stateful.ebs.tags import FIRST, GIVEN_UP_TAG, GUARD_TAG, MOVE_TAG, SNAPSHOTS_TAG
from operate.snapshot_completion import await_complete
from operate.zone_change.situation import ZoneChangeError

_WHEN = "%Y-%m-%d %H:%M:%S UTC"
_NOT_COPIED = ("aws:", GUARD_TAG, SNAPSHOTS_TAG)


class Copies:
    """Snapshots of one EBS volume."""

    def __init__(self, ec2: Any, volume_id: str, name: str) -> None:
        self._ec2 = ec2
        self._volume_id = volume_id
        self._name = name

    def take(self, mark: str, timeout_s: float) -> str:
        """Takes a snapshot, or goes on with the one of the same mark, and waits until it is complete; its id."""
        snapshot_id = self.marked(mark) or self._begin(mark)
        remedy = "EC2 goes on copying: run the same command again, with a larger --timeout."
        await_complete(self._ec2, snapshot_id, timeout_s, remedy, ZoneChangeError)
        return snapshot_id

    def marked(self, mark: str) -> str:
        """Returns the snapshot with a mark, "" if there is none."""
        return next((str(one["SnapshotId"]) for one in self._all() if tags.read(one).get(MOVE_TAG) == mark), "")

    def newest(self) -> Mapping[str, Any] | None:
        """Returns the newest complete snapshot; None if there is none."""
        complete = [one for one in self._all() if one["State"] == "completed"]
        return max(complete, key=lambda one: one["StartTime"], default=None)

    def describe(self, snapshot_id: str) -> Mapping[str, Any]:
        """Returns one of the account's snapshots. Raises ZoneChangeError where there is none."""
        found = self._ec2.describe_snapshots(Filters=[{"Name": "snapshot-id", "Values": [snapshot_id]}])["Snapshots"]
        if not found:
            raise ZoneChangeError(f"EC2 has no snapshot {snapshot_id} in this account and region: `operate snapshots`")
        return dict(found[0])

    def chosen(self, snapshot_id: str) -> Mapping[str, Any]:
        """Returns a snapshot to go on from. Raises ZoneChangeError where it is not complete, or another volume's."""
        found = self.describe(snapshot_id)
        if found["State"] != "completed":
            raise ZoneChangeError(
                f"--snapshot {snapshot_id} is {found['State']} ({found.get('Progress') or '0%'}): wait until it is "
                "completed, or leave --snapshot out, which takes the newest that is"
            )
        if source(found) != self._volume_id and tags.read(found).get("Name") != self._name:
            raise ZoneChangeError(
                f"--snapshot {snapshot_id} is of {source(found)}, and volume {self._name} is {self._volume_id}: name "
                f"one of `python -m operate snapshots {self._name}`"
            )
        return found

    def drop_first(self) -> None:
        """Deletes the snapshot that was taken to shorten the last one."""
        if first := self.marked(FIRST):
            self._ec2.delete_snapshot(SnapshotId=first)

    def give_up(self) -> None:
        """Notes on the volume that nothing waits for it: its zone is lost."""
        now = datetime.now(UTC).strftime(_WHEN)
        self._ec2.create_tags(Resources=[self._volume_id], Tags=tags.listed({GIVEN_UP_TAG: now}))

    def given_up(self) -> datetime | None:
        """Returns when the volume was given up; None where it was not, or is gone."""
        found = self._ec2.describe_volumes(Filters=[{"Name": "volume-id", "Values": [self._volume_id]}])["Volumes"]
        when = tags.read(found[0]).get(GIVEN_UP_TAG) if found else None
        return datetime.strptime(when, _WHEN).replace(tzinfo=UTC) if when else None

    def _begin(self, mark: str) -> str:
        found = self._ec2.describe_volumes(VolumeIds=[self._volume_id])["Volumes"][0]
        kept = {key: value for key, value in tags.read(found).items() if not key.startswith(_NOT_COPIED)}
        own = tags.listed({**kept, "Name": self._name, MOVE_TAG: mark})
        made = self._ec2.create_snapshot(
            VolumeId=self._volume_id,
            Description=f"{self._name} ({self._volume_id}) before it moves to another zone",
            TagSpecifications=[{"ResourceType": "snapshot", "Tags": own}],
        )
        print(f"    snapshot {made['SnapshotId']} of {self._volume_id} begun", file=sys.stderr, flush=True)
        return str(made["SnapshotId"])

    def _all(self) -> list[Mapping[str, Any]]:
        filters = [{"Name": "volume-id", "Values": [self._volume_id]}]
        pages = self._ec2.get_paginator("describe_snapshots").paginate(OwnerIds=["self"], Filters=filters)
        return [one for page in pages for one in page["Snapshots"] if one["State"] != "error"]
