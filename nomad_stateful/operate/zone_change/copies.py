"""Snapshots on which a volume moves: tried, taken, and chosen; and EC2's word on the volume that stays."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar

from nomad_stateful.ebs import tags
from nomad_stateful.ebs.ec2_client import AwsPlace
from nomad_stateful.ebs.snapshots import EbsSnapshots, Snapshot, newest
from nomad_stateful.ebs.tags import FIRST, GIVEN_UP_TAG, MOVE_TAG, SNAPSHOTS_TAG, STACK_TAG
from nomad_stateful.ebs.volumes import EbsVolumes
from nomad_stateful.errors import ProviderError
from nomad_stateful.nomad.commands import scope
from nomad_stateful.operate import stack
from nomad_stateful.operate.cluster import wait_for
from nomad_stateful.operate.drill.model import DrillError, Scratch
from nomad_stateful.operate.drill.scratch import make_like
from nomad_stateful.operate.errors import TimedOutError
from nomad_stateful.operate.progress import CONTEXT, say
from nomad_stateful.operate.snapshots import drop
from nomad_stateful.operate.zone_change.situation import Setting, Stored, ZoneChangeError
from nomad_stateful.waiting import Progress

if TYPE_CHECKING:
    from nomad_stateful.operate.zone_change.change import ZoneChange

T = TypeVar("T")
_WHEN = "%Y-%m-%d %H:%M:%S UTC"
_ANSWERS_S = 300.0
_ATTACHABLE_S = 90.0
_RELEASED_S = 600.0


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

    def origin(self) -> Snapshot | None:
        """Returns the snapshot that it was made from; None where that is gone, or there was none."""
        return self._snapshots.find(self._made_from) if self._made_from else None

    def chosen(self, snapshot_id: str) -> Snapshot:
        """Returns a snapshot to go on from, by the rule of the volume's guard. Raises ZoneChangeError."""
        found = self._snapshots.find(snapshot_id)
        if found is None:
            raise ZoneChangeError(
                f"EC2 has no snapshot {snapshot_id} in this account and region: see `nomad-stateful snapshots`"
            )
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

    def drop_first(self, but: str) -> None:
        """Deletes the snapshots that were taken to shorten the last one, but one from which a failover went on."""
        for one in self._snapshots.of_volumes([self._volume_id]):
            if one.state != "error" and one.tags.get(MOVE_TAG) == FIRST and one.id != but:
                drop(self._snapshots, one.id)

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


class LastCopy:
    """The snapshot that one run of `move` takes; that of an earlier run is never taken for it."""

    def __init__(self, change: ZoneChange) -> None:
        self._change = change
        self._left_by = ""
        """The stopped jobs, as they were when it was begun."""

    def take(self, now: Setting, known: Stored, volume_id: str) -> str:
        """Stops what uses the volume, and returns the id of a complete snapshot of what it left.

        Whether that can be made a volume of is tried before anything is stopped.
        """
        change = self._change
        copies = Copies(change.place, volume_id, change.wanted.volume)
        if self._running(known):
            say("==> a first snapshot while it runs, so that the last one is short")
            first = copies.take(FIRST, change.wanted.timeout_s)
            zone = change.wanted.zone
            change.engine.refuse_failing({f"{now.path}.zone": zone, f"{now.path}.snapshotId": first})
            refuse_impossible(change.place, change.wanted.volume, volume_id, zone, first)
        change.refuse_changed(now, known)
        change.engine.refuse_locked()
        change.consumers(known).refuse_runs()
        self._stop(known, volume_id)
        say("==> the last snapshot")
        return copies.take(change.wanted.zone, change.wanted.timeout_s)

    def _running(self, known: Stored) -> list[str]:
        return [str(job["ID"]) for job in self._change.consumers(known).jobs() if not job.get("Stop")]

    def _stop(self, known: Stored, volume_id: str) -> None:
        change, using = self._change, self._change.consumers(known)
        say(f"==> stopping {', '.join(self._running(known)) or 'nothing'}")
        why = f"volume {change.wanted.volume} moves to {change.wanted.zone}"
        using.stop(why, await_attachable_s=_ATTACHABLE_S)
        using.await_released(change.ebs, volume_id, _RELEASED_S)
        self._left_by = using.token()

    def renewed(self, now: Setting, known: Stored) -> str:
        """Returns the snapshot to make the new volume from: another one where the old volume may have been used since.

        Raises ZoneChangeError where the new one is made already, and a job was started on the old one.
        """
        change, there = self._change, known.zone == self._change.wanted.zone
        if there and (made := known.volume_id or self._made(known)):
            self._refuse_started_on_the_old(known, made)
            return now.snapshot_id
        left_in_place = known.registered_id if there else known.volume_id
        if not left_in_place:
            return now.snapshot_id
        same = self._left_by == change.consumers(known).token() and change.ebs.state(left_in_place).is_free
        return now.snapshot_id if same else self.take(now, known, left_in_place)

    def _made(self, known: Stored) -> str:
        """Returns the new volume, which an update that was cut off may have made: the next one takes it over."""
        found = self._change.ebs.guarded_by(known.guard_id)
        return found.id if found and found.state != "error" else ""

    def _refuse_started_on_the_old(self, known: Stored, made: str) -> None:
        old = known.registered_id
        if old not in ("", made) and (running := self._running(known)):
            raise ZoneChangeError(
                f"{made} in {known.zone} is made already, and {', '.join(running)} was started again on {old}: what it "
                f"writes there is not on the new one. Stop it (`nomad job stop{scope(known.namespace)} {running[0]}`), "
                f"delete the new one, which nothing has used (`aws ec2 delete-volume --volume-id {made}`), run `pulumi "
                "refresh`, and the same command again: it takes another snapshot"
            )


def refuse_impossible(place: AwsPlace, name: str, volume_id: str, zone: str, snapshot_id: str) -> None:
    """Has EC2 make a volume like the one that moves, and deletes it: a preview does not ask EC2 whether it makes one.

    Type, key and capacity are then known to do. What a kill leaves goes with the next one, of which there is one at a
    time. Raises ZoneChangeError where it makes none.
    """
    own = {"Name": f"trial of {name}", STACK_TAG: stack.tag()}
    try:
        _delete(place, own)
        made = make_like(place, volume_id, zone, own, Scratch(0, snapshot_id))
        # By its id: EC2 may not find it by its tags yet.
        EbsVolumes(place).delete(made)
    except (ProviderError, DrillError, TimedOutError) as error:
        raise ZoneChangeError(
            f"EC2 makes no volume like {name} in {zone} from {snapshot_id}: {error}. Nothing is stopped. Fix the "
            "cause, and run the same command again"
        ) from error


def _delete(place: AwsPlace, own: dict[str, str]) -> None:
    volumes = EbsVolumes(place)
    for one in volumes.tagged(own):
        if one.state in ("available", "error"):
            volumes.delete(one.id)
