"""Snapshots on which a volume moves, and EC2's word on the volume that stays."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeVar

from nomad_stateful.ebs import tags
from nomad_stateful.ebs.ec2_client import AwsPlace
from nomad_stateful.ebs.snapshots import EbsSnapshots, Snapshot, newest
from nomad_stateful.ebs.tags import FIRST, GIVEN_UP_TAG, MOVE_TAG, SNAPSHOTS_TAG
from nomad_stateful.ebs.volumes import EbsVolumes
from nomad_stateful.operate.cluster import wait_for
from nomad_stateful.operate.progress import CONTEXT, say
from nomad_stateful.operate.zone_change.situation import ZoneChangeError
from nomad_stateful.waiting import Progress

T = TypeVar("T")
_WHEN = "%Y-%m-%d %H:%M:%S UTC"
_ANSWERS_S = 300.0


class Copies:
    """Snapshots of one EBS volume."""

    def __init__(self, place: AwsPlace, volume_id: str, name: str, made_from: str = "") -> None:
        """`made_from` is the snapshot that the volume was made from, "" if from none."""
        self._volumes = EbsVolumes(place)
        self._snapshots = EbsSnapshots(place)
        self._volume_id = volume_id
        self._name = name
        self._made_from = made_from

    def take(self, mark: str, timeout_s: float) -> str:
        """Takes a snapshot with a mark, waits until it is complete, and returns its id.

        One of an earlier run is never taken for it: nobody knows what was written since.
        """
        snapshot_id = _asked("EC2 begins a snapshot", lambda: self._begin(mark))
        remedy = "Run the same command again, with a larger --timeout: it copies only what changed since"
        self._snapshots.await_complete(Progress(CONTEXT, timeout_s), snapshot_id, remedy)
        return snapshot_id

    def newest(self) -> Snapshot | None:
        """Returns the newest complete snapshot; None if there is none."""
        return newest(self._snapshots.of_volume(self._volume_id, self._made_from))

    def describe(self, snapshot_id: str) -> Snapshot:
        """Returns a snapshot by its id. Raises ZoneChangeError where there is none."""
        found = self._snapshots.find(snapshot_id)
        if found is None:
            raise ZoneChangeError(
                f"EC2 has no snapshot {snapshot_id} in this account and region: see `nomad-stateful snapshots`"
            )
        return found

    def chosen(self, snapshot_id: str) -> Snapshot:
        """Returns a snapshot to go on from, by the rule of the volume's guard. Raises ZoneChangeError."""
        found = self.describe(snapshot_id)
        if not found.is_complete:
            raise ZoneChangeError(
                f"--snapshot {snapshot_id} is {found.state} ({found.progress}): wait until it is completed, or leave "
                "--snapshot out, which takes the newest that is"
            )
        if not found.is_of(self._volume_id, self._made_from):
            origin = f", made from {self._made_from}" if self._made_from else ""
            raise ZoneChangeError(
                f"--snapshot {snapshot_id} is of {found.source}, and volume {self._name} is {self._volume_id}{origin}: "
                f"name one of that in `nomad-stateful snapshots {self._name}`. To go on from another, restore it to "
                "a volume of a new name: docs/volumes.md"
            )
        return found

    def drop_first(self) -> None:
        """Deletes the snapshots that were taken to shorten the last one."""
        for one in self._snapshots.of_volumes([self._volume_id]):
            if one.state != "error" and one.tags.get(MOVE_TAG) == FIRST:
                self._snapshots.delete(one.id)

    def give_up(self) -> None:
        """Notes on the volume that nothing waits for it: its zone is lost."""
        now = {GIVEN_UP_TAG: datetime.now(UTC).strftime(_WHEN)}
        _asked("EC2 tags the volume", lambda: self._volumes.tag(self._volume_id, now))

    def given_up(self) -> datetime | None:
        """Returns when the volume was given up; None where it was not, or is gone."""
        found = self._volumes.find(self._volume_id)
        return datetime.strptime(found.given_up, _WHEN).replace(tzinfo=UTC) if found and found.given_up else None

    def _begin(self, mark: str) -> str:
        volume = self._volumes.state(self._volume_id)
        kept = {key: value for key, value in tags.of_snapshot(volume.tags).items() if key != SNAPSHOTS_TAG}
        text = f"{self._name} ({self._volume_id}) before it moves to another zone"
        snapshot_id = self._snapshots.begin(self._volume_id, text, {**kept, "Name": self._name, MOVE_TAG: mark})
        say(f"    snapshot {snapshot_id} of {self._volume_id} begun")
        return snapshot_id


def _asked(what: str, request: Callable[[], T]) -> T:
    """Returns EC2's answer, for which it waits over transient errors."""
    return wait_for(what, lambda: (request(),), _ANSWERS_S, "Run the same command again.")[0]
