"""Snapshots of the stack's EBS volumes, in the account that they are in."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pymysql
from botocore.exceptions import BotoCoreError, ClientError

from nomad_stateful.columns import columns
from nomad_stateful.ebs.ec2_client import AwsPlace, caller, ec2_client
from nomad_stateful.ebs.tags import GUARD_TAG
from operate import stack
from operate.cluster import Cluster, WaitedTooLong
from operate.database import Database
from operate.ownership import stack_cluster

POLL_S = 1.0
REPORT_EVERY_S = 10.0
_OWN_TAGS = ("aws:", GUARD_TAG)


class SnapshotError(Exception):
    """A snapshot could not be taken or listed."""


def take(volume: str, description: str, *, quiesce: bool, timeout_s: float) -> str:
    """Takes a snapshot of a volume of the stack and waits until it is complete; its id.

    Raises SnapshotError and WaitedTooLong.
    """
    known = stack.outputs()
    volume_id = _ebs_id(known, volume)
    ec2 = _ec2()
    tags = _tags(ec2, volume_id, volume)
    text = description or f"{volume} ({volume_id})"
    with _quiet(volume) if quiesce else _as_it_is(volume), _told():
        snapshot = ec2.create_snapshot(
            VolumeId=volume_id,
            Description=text,
            TagSpecifications=[{"ResourceType": "snapshot", "Tags": tags}],
        )
    snapshot_id = str(snapshot["SnapshotId"])
    print(f"{snapshot_id}  {volume}  {volume_id}  {text}", flush=True)
    _await_complete(ec2, snapshot_id, timeout_s)
    print(
        f"complete. To restore it, give a new volume in the stack's settings a new name with snapshotId: {snapshot_id}",
        file=sys.stderr,
    )
    return snapshot_id


def table(volume: str) -> str:
    """The snapshots of a volume, of one that was deleted too, newest first. Raises SnapshotError."""
    names = [volume] if volume else sorted(stack.outputs().get("volumes", {}))
    with _told():
        pages = (
            _ec2()
            .get_paginator("describe_snapshots")
            .paginate(OwnerIds=["self"], Filters=[{"Name": "tag:Name", "Values": names}])
        )
        found = [snapshot for page in pages for snapshot in page["Snapshots"]]
    if not found:
        return f"no snapshots of {', '.join(names) or 'anything'}"
    rows = [("SNAPSHOT", "VOLUME", "SIZE", "STATE", "STARTED", "DESCRIPTION")]
    for snapshot in sorted(found, key=lambda one: one["StartTime"], reverse=True):
        name = next((tag["Value"] for tag in snapshot["Tags"] if tag["Key"] == "Name"), "")
        started = snapshot["StartTime"].strftime("%Y-%m-%d %H:%M:%SZ")
        rows.append(
            (
                snapshot["SnapshotId"],
                name,
                f"{snapshot['VolumeSize']} GiB",
                snapshot["State"],
                started,
                snapshot.get("Description", ""),
            )
        )
    return columns(rows)


def _ebs_id(known: Mapping[str, Any], volume: str) -> str:
    volumes = known.get("volumes") or {}
    if volume not in volumes:
        raise SnapshotError(f"the stack has no volume {volume}: it has {', '.join(sorted(volumes)) or 'none'}")
    volume_id = str(volumes[volume]["id"])
    if not volume_id.startswith("vol-"):
        raise SnapshotError(
            f"volume {volume} is {volume_id}, which is not an EBS volume: take its snapshot where it is"
        )
    return volume_id


def _ec2() -> Any:
    place = stack.aws_place()
    with _told():
        _speaks_for(place)
        return ec2_client(place)


def _speaks_for(place: AwsPlace) -> None:
    """Raises SnapshotError where the credentials are of another account, which has snapshots of its own."""
    account, arn = caller(place)
    if place.account_id and account != place.account_id:
        raise SnapshotError(
            f"the AWS credentials are of account {account} ({arn}): the stack's volumes are in account "
            f"{place.account_id}. Use the credentials of the aws provider (AWS_PROFILE, or aws:profile in the stack)"
        )


def _tags(ec2: Any, volume_id: str, volume: str) -> list[dict[str, str]]:
    """The volume's own tags, by which the snapshot is found again when the volume is gone."""
    with _told():
        tags = ec2.describe_volumes(VolumeIds=[volume_id])["Volumes"][0].get("Tags", [])
    kept = {tag["Key"]: tag["Value"] for tag in tags if not tag["Key"].startswith(_OWN_TAGS)}
    return [{"Key": key, "Value": value} for key, value in {**kept, "Name": volume}.items()]


def _await_complete(ec2: Any, snapshot_id: str, timeout_s: float) -> None:
    started = time.monotonic()
    next_report = started + REPORT_EVERY_S
    while True:
        with _told():
            snapshot = ec2.describe_snapshots(SnapshotIds=[snapshot_id])["Snapshots"][0]
        if snapshot["State"] == "completed":
            return
        if snapshot["State"] == "error":
            raise SnapshotError(f"{snapshot_id} failed: {snapshot.get('StateMessage', 'EC2 gives no reason')}")
        now = time.monotonic()
        if now - started >= timeout_s:
            raise WaitedTooLong(
                f"{snapshot_id} is not complete after {timeout_s:.0f} s. It goes on by itself: "
                "`python -m operate snapshots` shows when it is; a larger --timeout waits longer"
            )
        if now >= next_report:
            print(f"    {snapshot.get('Progress') or '0%'} copied, since {now - started:.0f} s", file=sys.stderr)
            next_report = now + REPORT_EVERY_S
        time.sleep(POLL_S)


@contextmanager
def _as_it_is(volume: str) -> Iterator[None]:
    print(
        f"==> taking a snapshot of {volume} as it is: crash-consistent, as after a loss of power, from which a "
        "journaling file system and InnoDB recover (for MySQL, --quiesce holds writes back for that moment)",
        file=sys.stderr,
    )
    yield


@contextmanager
def _quiet(volume: str) -> Iterator[None]:
    """Holds MySQL's writes back: what a snapshot has is settled as soon as EC2 has accepted it."""
    mysql = stack.mysql_outputs()
    if mysql.volume != volume:
        raise SnapshotError(f"--quiesce: MySQL is on volume {mysql.volume}, not on {volume}. Leave --quiesce out")
    cluster = Cluster(stack_cluster(mysql.volume), mysql.job, mysql.namespace, group="mysql", port_label="db")
    at = cluster.endpoint(timeout_s=30)
    print(f"==> taking a snapshot of {volume} with MySQL's writes held back", file=sys.stderr)
    try:
        with Database.of(mysql).read_only(at):
            yield
    except pymysql.err.MySQLError as error:
        raise SnapshotError(f"MySQL at {at.host}:{at.port} did not hold its writes back: {error}") from error


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except (BotoCoreError, ClientError) as error:
        raise SnapshotError(f"EC2: {error}") from error
