"""Snapshots of the stack's EBS volumes."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any

from nomad_stateful.ebs import tags
from nomad_stateful.ebs.ec2_client import refuse_another_account
from nomad_stateful.ebs.snapshots import EbsSnapshots, Snapshot, newest
from nomad_stateful.ebs.tags import STACK_TAG
from nomad_stateful.ebs.volumes import EbsVolumes, is_ebs_volume
from nomad_stateful.operate import stack
from nomad_stateful.operate.command import Checks
from nomad_stateful.operate.database import Database
from nomad_stateful.operate.errors import OperateError
from nomad_stateful.operate.frame import Frame, framed, interruptible
from nomad_stateful.operate.options import add_change_options, at_least_0
from nomad_stateful.operate.ownership import database_cluster
from nomad_stateful.operate.progress import CONTEXT, say
from nomad_stateful.waiting import Progress


class SnapshotError(OperateError):
    """A snapshot could not be taken or listed."""


def take(frame: Frame, volume: str, description: str, *, quiesce: bool, timeout_s: float) -> str:
    """Takes a snapshot of a volume of the stack, waits until it is complete, and returns its id ("" of a dry run).

    Raises SnapshotError and ProviderError.
    """
    snapshots = Snapshots(volume)
    text = description or f"{volume} ({snapshots.volume_id})"
    result = {"ok": True, "volume": volume, "volumeId": snapshots.volume_id, "description": text}
    if frame.dry_run:
        snapshots.refuse_unpermitted()
    if not frame.agree("", f"==> taking {_kind(quiesce)} of {volume}{_NOTES[quiesce]}", {**result, "dryRun": True}):
        return ""
    with _quiesced(volume) if quiesce else nullcontext():
        snapshot_id = snapshots.begin(text, {})
    (say if frame.as_json else print)(f"{snapshot_id}  {volume}  {snapshots.volume_id}  {text}")
    sys.stdout.flush()
    goes_on = "EC2 goes on copying: `nomad-stateful snapshots` shows its state"
    with interruptible(lambda: f"{snapshot_id} is begun, and {goes_on}"):
        snapshots.await_complete(snapshot_id, timeout_s, f"{goes_on}; a larger --timeout waits longer")
    say(f"complete. To restore it, give a new volume in the stack's settings a new name with snapshotId: {snapshot_id}")
    frame.tell({**result, "snapshotId": snapshot_id})
    return snapshot_id


_NOTES = {
    False: ", as after a loss of power: journaling file systems and databases recover from it (--quiesce blocks "
    "the stack's database for that moment)",
    True: " with the database's writes blocked",
}


def _kind(quiesce: bool) -> str:
    return "a snapshot" if quiesce else "a crash-consistent snapshot"


class Snapshots:
    """Snapshots of one volume of the stack."""

    def __init__(self, volume: str) -> None:
        """Raises SnapshotError where EC2 takes none of this volume, and ProviderError."""
        self.volume_id = _ebs_id(stack.outputs(), volume)
        place = stack.aws_place()
        refuse_another_account(place, f"volume {volume}")
        self._snapshots = EbsSnapshots(place)
        found = EbsVolumes(place).find(self.volume_id)
        if found is None:
            raise SnapshotError(f"EC2 has no volume {self.volume_id} any more, which volume {volume} is in the stack")
        # By these it is found when the volume is gone: the volume's, and whose it is.
        self._tags = {**tags.of_snapshot(found.tags), "Name": volume, STACK_TAG: stack.tag()}

    def refuse_unpermitted(self) -> None:
        """Raises ProviderError where EC2 says that it would take none."""
        self._snapshots.refuse_unpermitted(self.volume_id)

    def begin(self, description: str, mark: Mapping[str, str]) -> str:
        """Begins a snapshot with further tags and returns its id: from then on its contents are fixed."""
        return self._snapshots.begin(self.volume_id, description, {**self._tags, **mark})

    def await_complete(self, snapshot_id: str, timeout_s: float, remedy: str) -> None:
        """Waits until EC2 has copied the whole snapshot, which counts from then on. Raises ProviderError."""
        self._snapshots.await_complete(Progress(CONTEXT, timeout_s), snapshot_id, remedy)

    def delete(self, snapshot_id: str) -> None:
        """Deletes a snapshot. Raises ProviderError."""
        self._snapshots.delete(snapshot_id)

    def newest(self, key: str) -> Snapshot | None:
        """Returns the volume's newest complete snapshot with a tag of that key, None if there is none."""
        return newest(one for one in self._snapshots.of_volumes([self.volume_id]) if key in one.tags)


def _ebs_id(known: Mapping[str, Any], volume: str) -> str:
    volumes = known.get("volumes") or {}
    if volume not in volumes:
        raise SnapshotError(f"the stack has no volume {volume}: it has {', '.join(sorted(volumes)) or 'none'}")
    volume_id = str(volumes[volume]["id"])
    if not is_ebs_volume(volume_id):
        raise SnapshotError(
            f"volume {volume} is {volume_id}, which is not an EBS volume: take its snapshot in its own storage system"
        )
    return volume_id


@contextmanager
def _quiesced(volume: str) -> Iterator[None]:
    """Blocks the database's writes: a snapshot's contents are fixed once EC2 has accepted it."""
    server = stack.database_outputs()
    title, database = server.kind.title, Database.of(server)
    if server.volume != volume:
        raise SnapshotError(f"--quiesce: {title} is on volume {server.volume}, not on {volume}. Omit --quiesce")
    if not database.holds_writes:
        raise SnapshotError(f"--quiesce: {title} cannot block its writes, and recovers without. Omit --quiesce")
    at = database_cluster(server).endpoint(timeout_s=30)
    try:
        with database.read_only(at):
            yield
    except database.errors as error:
        raise SnapshotError(f"{title} at {at.host}:{at.port} did not block its writes: {error}") from error


def _take_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("volume", help="the volume's name in the stack")
    parser.add_argument("--description", default="", help="what the snapshot is for")
    parser.add_argument("--quiesce", action="store_true", help="block the database's writes while the snapshot starts")
    parser.add_argument("--timeout", type=at_least_0, default=3600, metavar="SECONDS", help="how long to wait for it")
    add_change_options(parser, yes="")


def _take(frame: Frame, known: Namespace) -> None:
    take(frame, known.volume, known.description, quiesce=known.quiesce, timeout_s=known.timeout)


_NO_TURN = "only adds a snapshot"

TAKE = framed(
    "snapshot",
    "take a snapshot of an EBS volume of the stack and print its id",
    _take,
    _take_arguments,
    checks=Checks(
        turn=_NO_TURN,
        pulumi=_NO_TURN,
        cluster="uses EC2 alone, whose account is checked; --quiesce checks the cluster of the database's volume",
    ),
    answered=lambda _: True,
)
