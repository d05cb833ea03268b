"""Moves of the database's volume, and what they leave behind."""

from __future__ import annotations

from subprocess import CompletedProcess
from typing import Final

from nomad_stateful.ebs.tags import LEFT_TAG
from tools.faults.api_faults import repeated
from tools.faults.checks import volume_ids
from tools.faults.lane import Lane
from tools.faults.stack_settings import StackSettings
from tools.trial.running import ended_well

HOME: Final = "us-west-2a"
"""The zone with two clients, in which the database is while something else breaks."""
_OTHER: Final = "us-west-2b"
_TIMEOUT_S: Final = 900.0


def elsewhere(lane: Lane) -> str:
    """Where a move goes on to that did not end; else the zone that the database is not in."""
    return pending(lane) or (_OTHER if zone(lane) == HOME else HOME)


def zone(lane: Lane) -> str:
    """The zone of the database's volume, as the settings have it."""
    settings = StackSettings.read(lane.stack_file)
    return str(settings.volume(settings.database["volume"])["zone"])


def pending(lane: Lane) -> str:
    """Where the database's volume is on the way to; empty where it stays."""
    settings = StackSettings.read(lane.stack_file)
    return str(settings.volume(settings.database["volume"]).get("moveTo", ""))


def move(lane: Lane, target: str) -> None:
    """Moves the database's volume. AssertionError with what the command said."""
    ended_well(_moved(lane, target))


def _moved(lane: Lane, target: str) -> CompletedProcess[str]:
    volume = StackSettings.read(lane.stack_file).database["volume"]
    return lane.operate("move", volume, "--zone", target, "--yes", timeout_s=_TIMEOUT_S)


def end_move(lane: Lane) -> None:
    """Ends a move that was begun, as its operator does: by the same command."""
    if target := pending(lane):
        repeated(lambda: _moved(lane, target))


def bring_home(lane: Lane) -> None:
    """Has the database where it was at first."""
    end_move(lane)
    if zone(lane) != HOME:
        repeated(lambda: _moved(lane, HOME))


class Leftovers:
    """Volumes and snapshots that commands leave to their operator, who deletes them."""

    def __init__(self, lane: Lane) -> None:
        self._lane = lane
        self._snapshots = self._found()

    def delete(self) -> None:
        """Deletes the volumes that moves have left, and every snapshot that was taken meanwhile."""
        ec2, now = self._lane.stack.ec2, set(volume_ids(self._lane).values())
        for one in ec2.describe_volumes(Filters=[{"Name": "tag-key", "Values": [LEFT_TAG]}])["Volumes"]:
            if one["State"] == "available" and one["VolumeId"] not in now:
                ec2.delete_volume(VolumeId=one["VolumeId"])
        for snapshot in self._found() - self._snapshots:
            ec2.delete_snapshot(SnapshotId=snapshot)

    def _found(self) -> set[str]:
        return {one["SnapshotId"] for one in self._lane.stack.ec2.describe_snapshots(OwnerIds=["self"])["Snapshots"]}
