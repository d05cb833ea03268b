"""The last snapshot of a volume, of what it has once all that uses it is stopped, and the trial of one before that."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from nomad_stateful.ebs.tags import FIRST
from nomad_stateful.operate.zone_change.copies import Copies
from nomad_stateful.operate.zone_change.situation import Setting, Stored, ZoneChangeError

if TYPE_CHECKING:
    from nomad_stateful.operate.zone_change.change import ZoneChange
from nomad_stateful.ebs.ec2_client import AwsPlace
from nomad_stateful.ebs.tags import STACK_TAG
from nomad_stateful.ebs.volumes import EbsVolumes
from nomad_stateful.errors import ProviderError
from nomad_stateful.operate import stack
from nomad_stateful.operate.drill.model import DrillError, Scratch
from nomad_stateful.operate.drill.scratch import make_like
from nomad_stateful.operate.errors import TimedOutError

_ATTACHABLE_S = 90.0
_RELEASED_S = 600.0


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
            print("==> a first snapshot while it runs, so that the last one is short", file=sys.stderr, flush=True)
            first = copies.take(FIRST, change.wanted.timeout_s)
            zone = change.wanted.zone
            change.engine.refuse_failing({f"{now.path}.zone": zone, f"{now.path}.snapshotId": first})
            refuse_impossible(change.place, change.wanted.volume, volume_id, zone, first)
        change.refuse_changed(now, known)
        change.engine.refuse_locked()
        self._stop(known, volume_id)
        print("==> the last snapshot", file=sys.stderr, flush=True)
        return copies.take(change.wanted.zone, change.wanted.timeout_s)

    def _running(self, known: Stored) -> list[str]:
        return [str(job["ID"]) for job in self._change.consumers(known).jobs() if not job.get("Stop")]

    def _stop(self, known: Stored, volume_id: str) -> None:
        change, using = self._change, self._change.consumers(known)
        print(f"==> stopping {', '.join(self._running(known)) or 'nothing'}", file=sys.stderr, flush=True)
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
                f"writes there is not on the new one. Stop it (`nomad job stop {running[0]}`), delete the new one, "
                f"which nothing has used (`aws ec2 delete-volume --volume-id {made}`), run `pulumi refresh`, and the "
                "same command again: it takes another snapshot"
            )


def refuse_impossible(place: AwsPlace, name: str, volume_id: str, zone: str, snapshot_id: str) -> None:
    """Has EC2 make a volume like the one that moves, and deletes it: a preview does not ask EC2 whether it makes one.

    Type, key and capacity are then known to do. What a kill leaves goes with the next one, of which there is one at a
    time. Raises ZoneChangeError where it makes none.
    """
    own = {"Name": f"trial of {name}", STACK_TAG: stack.tag()}
    try:
        _delete(place, own)
        make_like(place, volume_id, zone, own, Scratch(0, snapshot_id))
        _delete(place, own)
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
