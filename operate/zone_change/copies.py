"""Snapshots on which a volume moves, and EC2's word on the volume that stays."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, TypeVar

from nomad_stateful.ebs import tags
from nomad_stateful.ebs.restored import is_of, source
from nomad_stateful.ebs.tags import FIRST, GIVEN_UP_TAG, MOVE_TAG, SNAPSHOTS_TAG
from operate.cluster import wait_for
from operate.snapshot_completion import await_complete
from operate.volume_snapshots import complete_of, newest
from operate.zone_change.situation import ZoneChangeError

T = TypeVar("T")
_WHEN = "%Y-%m-%d %H:%M:%S UTC"
_ANSWERS_S = 300.0


class Copies:
    """Snapshots of one EBS volume."""

    def __init__(self, ec2: Any, volume_id: str, name: str, made_from: str = "") -> None:
        """`made_from` is the snapshot that the volume was made from, "" if from none."""
        self._ec2 = ec2
        self._volume_id = volume_id
        self._name = name
        self._made_from = made_from

    def take(self, mark: str, timeout_s: float) -> str:
        """Takes a snapshot with a mark, waits until it is complete, and returns its id.

        One of an earlier run is never taken for it: nobody knows what was written since.
        """
        snapshot_id = _asked("EC2 begins a snapshot", lambda: self._begin(mark))
        remedy = "Run the same command again, with a larger --timeout: it copies only what changed since."
        await_complete(self._ec2, snapshot_id, timeout_s, remedy, ZoneChangeError)
        return snapshot_id

    def newest(self) -> Mapping[str, Any] | None:
        """Returns the newest complete snapshot; None if there is none."""
        return newest(complete_of(self._ec2, self._volume_id, self._made_from))

    def describe(self, snapshot_id: str) -> Mapping[str, Any]:
        """Returns one of the account's snapshots. Raises ZoneChangeError where there is none."""
        found = self._ec2.describe_snapshots(Filters=[{"Name": "snapshot-id", "Values": [snapshot_id]}])["Snapshots"]
        if not found:
            raise ZoneChangeError(f"EC2 has no snapshot {snapshot_id} in this account and region: `operate snapshots`")
        return dict(found[0])

    def chosen(self, snapshot_id: str) -> Mapping[str, Any]:
        """Returns a snapshot to go on from, by the rule of the volume's guard. Raises ZoneChangeError."""
        found = self.describe(snapshot_id)
        if found["State"] != "completed":
            raise ZoneChangeError(
                f"--snapshot {snapshot_id} is {found['State']} ({found.get('Progress') or '0%'}): wait until it is "
                "completed, or leave --snapshot out, which takes the newest that is"
            )
        if not is_of(found, self._volume_id, self._made_from):
            origin = f", made from {self._made_from}" if self._made_from else ""
            raise ZoneChangeError(
                f"--snapshot {snapshot_id} is of {source(found)}, and volume {self._name} is {self._volume_id}"
                f"{origin}: name one of that in `python -m operate snapshots {self._name}`. To go on from another, "
                "restore it to a volume of a new name: docs/volumes.md"
            )
        return found

    def drop_first(self) -> None:
        """Deletes the snapshots that were taken to shorten the last one."""
        for one in self._all():
            if tags.read(one).get(MOVE_TAG) == FIRST:
                self._ec2.delete_snapshot(SnapshotId=one["SnapshotId"])

    def give_up(self) -> None:
        """Notes on the volume that nothing waits for it: its zone is lost."""
        now = tags.listed({GIVEN_UP_TAG: datetime.now(UTC).strftime(_WHEN)})
        _asked("EC2 tags the volume", lambda: self._ec2.create_tags(Resources=[self._volume_id], Tags=now))

    def given_up(self) -> datetime | None:
        """Returns when the volume was given up; None where it was not, or is gone."""
        found = self._ec2.describe_volumes(Filters=[{"Name": "volume-id", "Values": [self._volume_id]}])["Volumes"]
        when = tags.read(found[0]).get(GIVEN_UP_TAG) if found else None
        return datetime.strptime(when, _WHEN).replace(tzinfo=UTC) if when else None

    def _begin(self, mark: str) -> str:
        found = self._ec2.describe_volumes(VolumeIds=[self._volume_id])["Volumes"][0]
        kept = {key: value for key, value in tags.of_snapshot(tags.read(found)).items() if key != SNAPSHOTS_TAG}
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


def _asked(what: str, request: Callable[[], T]) -> T:
    """Returns EC2's answer, for which it waits over transient errors."""
    return wait_for(what, lambda: (request(),), _ANSWERS_S, "Run the same command again.")[0]
