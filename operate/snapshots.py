"""Snapshots of the stack's EBS volumes."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pymysql
from botocore.exceptions import BotoCoreError, ClientError

from nomad_stateful.ebs import tags
from nomad_stateful.ebs.attachment import is_ebs_volume
from nomad_stateful.ebs.ec2_client import AwsPlace, caller, ec2_client
from nomad_stateful.ebs.tags import STACK_TAG
from operate import stack
from operate.command import Command
from operate.database import Database
from operate.errors import OperateError
from operate.options import at_least_0
from operate.ownership import mysql_cluster
from operate.snapshot_completion import await_complete


class SnapshotError(OperateError):
    """A snapshot could not be taken or listed."""


def take(volume: str, description: str, *, quiesce: bool, timeout_s: float) -> str:
    """Takes a snapshot of a volume of the stack, waits until it is complete, and returns its id.

    Raises SnapshotError and TimedOutError.
    """
    volume_id = _ebs_id(stack.outputs(), volume)
    ec2 = _ec2()
    text = description or f"{volume} ({volume_id})"
    own = _tags(ec2, volume_id, volume)
    with _quiesced(volume) if quiesce else _crash_consistent(volume):
        snapshot_id = _create(ec2, volume_id, text, own)
    print(f"{snapshot_id}  {volume}  {volume_id}  {text}", flush=True)
    _await_complete(ec2, snapshot_id, timeout_s)
    print(
        f"complete. To restore it, give a new volume in the stack's settings a new name with snapshotId: {snapshot_id}",
        file=sys.stderr,
    )
    return snapshot_id


class Snapshots:
    """Snapshots of one volume of the stack, for a command that goes on while EC2 copies."""

    def __init__(self, volume: str) -> None:
        """Raises SnapshotError where EC2 takes none of this volume."""
        self.volume_id = _ebs_id(stack.outputs(), volume)
        self._ec2 = _ec2()
        self._tags = _tags(self._ec2, self.volume_id, volume)

    def refuse_unpermitted(self) -> None:
        """Raises SnapshotError where EC2 says that it would take none."""
        try:
            self._ec2.create_snapshot(VolumeId=self.volume_id, DryRun=True)
        except (BotoCoreError, ClientError) as error:
            code = error.response["Error"]["Code"] if isinstance(error, ClientError) else ""
            if code != "DryRunOperation":
                raise SnapshotError(f"EC2 takes no snapshot of {self.volume_id}: {error}") from error

    def begin(self, description: str, mark: Mapping[str, str]) -> str:
        """Begins a snapshot with further tags and returns its id: from then on its contents are fixed."""
        return _create(self._ec2, self.volume_id, description, {**self._tags, **mark})

    def await_complete(self, snapshot_id: str, timeout_s: float, remedy: str) -> None:
        """Waits until EC2 has copied the whole snapshot, which counts from then on.

        Raises SnapshotError where it fails, and TimedOutError with the remedy.
        """
        with ec2_errors():
            await_complete(self._ec2, snapshot_id, timeout_s, remedy, SnapshotError)

    def delete(self, snapshot_id: str) -> None:
        """Deletes a snapshot. Raises SnapshotError."""
        with ec2_errors():
            self._ec2.delete_snapshot(SnapshotId=snapshot_id)

    def newest(self, key: str) -> Mapping[str, Any] | None:
        """Returns the volume's newest complete snapshot with a tag of that key, None if there is none."""
        filters = [
            {"Name": "volume-id", "Values": [self.volume_id]},
            {"Name": "tag-key", "Values": [key]},
            {"Name": "status", "Values": ["completed"]},
        ]
        with ec2_errors():
            found = self._ec2.describe_snapshots(OwnerIds=["self"], Filters=filters)["Snapshots"]
        return max(found, key=lambda one: one["StartTime"], default=None)


def _create(ec2: Any, volume_id: str, text: str, own: Mapping[str, str]) -> str:
    with ec2_errors():
        snapshot = ec2.create_snapshot(
            VolumeId=volume_id,
            Description=text,
            TagSpecifications=[{"ResourceType": "snapshot", "Tags": tags.listed(own)}],
        )
    return str(snapshot["SnapshotId"])


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


def _ec2() -> Any:
    place = stack.aws_place()
    with ec2_errors():
        check_account(place)
        return ec2_client(place)


def check_account(place: AwsPlace) -> None:
    """Raises SnapshotError where the credentials belong to another account than the volumes."""
    account, arn = caller(place)
    if place.account_id and account != place.account_id:
        raise SnapshotError(
            f"the AWS credentials belong to account {account} ({arn}): the stack's volumes are in account "
            f"{place.account_id}. Use the credentials of the aws provider (AWS_PROFILE, or aws:profile in the stack)"
        )


def _tags(ec2: Any, volume_id: str, volume: str) -> dict[str, str]:
    """Returns the tags by which the snapshot is found when the volume is gone: the volume's, and whose it is."""
    with ec2_errors():
        known = tags.read(ec2.describe_volumes(VolumeIds=[volume_id])["Volumes"][0])
    return {**tags.of_snapshot(known), "Name": volume, STACK_TAG: stack.tag()}


def _await_complete(ec2: Any, snapshot_id: str, timeout_s: float) -> None:
    remedy = "EC2 goes on copying: `python -m operate snapshots` shows its state; a larger --timeout waits longer"
    with ec2_errors():
        await_complete(ec2, snapshot_id, timeout_s, remedy, SnapshotError)


@contextmanager
def _crash_consistent(volume: str) -> Iterator[None]:
    print(
        f"==> taking a crash-consistent snapshot of {volume}, as after a loss of power: journaling file systems "
        "and InnoDB recover from it (for MySQL, --quiesce blocks writes for that moment)",
        file=sys.stderr,
    )
    yield


@contextmanager
def _quiesced(volume: str) -> Iterator[None]:
    """Blocks MySQL's writes: a snapshot's contents are fixed once EC2 has accepted it."""
    mysql = stack.mysql_outputs()
    if mysql.volume != volume:
        raise SnapshotError(f"--quiesce: MySQL is on volume {mysql.volume}, not on {volume}. Omit --quiesce")
    at = mysql_cluster(mysql).endpoint(timeout_s=30)
    print(f"==> taking a snapshot of {volume} with MySQL's writes blocked", file=sys.stderr)
    try:
        with Database.of(mysql).read_only(at):
            yield
    except pymysql.err.MySQLError as error:
        raise SnapshotError(f"MySQL at {at.host}:{at.port} did not block its writes: {error}") from error


@contextmanager
def ec2_errors() -> Iterator[None]:
    """Raises SnapshotError for what EC2 refuses."""
    try:
        yield
    except (BotoCoreError, ClientError) as error:
        raise SnapshotError(f"EC2: {error}") from error


def _take_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("volume", help="the volume's name in the stack")
    parser.add_argument("--description", default="", help="what the snapshot is for")
    parser.add_argument("--quiesce", action="store_true", help="block MySQL's writes while the snapshot starts")
    parser.add_argument("--timeout", type=at_least_0, default=3600, metavar="SECONDS", help="how long to wait for it")


def _take(known: Namespace) -> None:
    take(known.volume, known.description, quiesce=known.quiesce, timeout_s=known.timeout)


TAKE = Command("snapshot", "take a snapshot of an EBS volume of the stack and print its id", _take, _take_arguments)
