"""Snapshots by the operator's command, against moto."""

import contextlib
import json
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import boto3
import pymysql
import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from nomad_stateful.databases.catalogue import DATABASES
from nomad_stateful.ebs.ec2_client import AwsPlace, ec2_client
from nomad_stateful.ebs.tags import GUARD_TAG, MANAGED_TAG, SNAPSHOTS_TAG, STACK_TAG, read
from nomad_stateful.errors import ProviderError
from nomad_stateful.operate import snapshots, stack
from nomad_stateful.operate.database import Database
from nomad_stateful.operate.errors import OperateError
from nomad_stateful.operate.frame import Frame
from tests.unit.aws import (
    DENIED,
    PLACE,
    REGION,
    UNLISTED,
    answers,
    empty_first_pages,
    made_snapshot,
    made_volume,
    snapshots_of,
)

FRAME = Frame("snapshot", yes=True)


@pytest.fixture(autouse=True)
def project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stack, "aws_place", lambda: PLACE)
    monkeypatch.setattr(stack, "tag", lambda: "project/prod")
    monkeypatch.setattr(stack, "config", dict)


@pytest.fixture
def volume_id(ec2: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    made = made_volume(ec2, {"Name": "mysql", "team": "db", GUARD_TAG: "g1", MANAGED_TAG: "true"})
    known = {"volumes": {"mysql": {"id": made}, "shared": {"id": "fs-0123"}}}
    monkeypatch.setattr(stack, "outputs", lambda: known)
    return made


def take(volume: str = "mysql", description: str = "", *, quiesce: bool = False, frame: Frame = FRAME) -> str:
    return snapshots.take(frame, volume, description, quiesce=quiesce, timeout_s=30)


def test_a_snapshot_carries_the_volumes_tags_but_not_its_guard_and_not_the_drivers(
    ec2: Any, volume_id: str, capsys: pytest.CaptureFixture[str]
) -> None:
    snapshot_id = take(description="before the upgrade")
    [taken] = ec2.describe_snapshots(SnapshotIds=[snapshot_id])["Snapshots"]
    assert (taken["VolumeId"], taken["Description"]) == (volume_id, "before the upgrade")
    assert read(taken) == {"Name": "mysql", "team": "db", STACK_TAG: "project/prod"}
    printed = capsys.readouterr()
    assert printed.out.split()[0] == snapshot_id
    assert "crash-consistent" in printed.err
    assert f"snapshotId: {snapshot_id}" in printed.err


def test_the_result_for_scripts_is_an_object_and_a_dry_run_takes_none(
    ec2: Any, volume_id: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def taken(**given: Any) -> dict[str, Any]:
        take(description="why", frame=Frame("snapshot", yes=True, as_json=True, **given))
        found: dict[str, Any] = json.loads(capsys.readouterr().out)
        return found

    known = {"ok": True, "volume": "mysql", "volumeId": volume_id, "description": "why"}
    assert taken(dry_run=True) == {**known, "dryRun": True}
    assert snapshots_of(ec2, volume_id) == []
    snapshot_id = taken()["snapshotId"]
    assert snapshots_of(ec2, volume_id) == [snapshot_id]


def test_an_interrupted_wait_names_the_snapshot_that_goes_on(volume_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(snapshots.Snapshots, "await_complete", interrupt)
    with pytest.raises(OperateError, match=r"^interrupted: snap-\w+ is begun, and EC2 goes on copying"):
        take()


def test_one_that_ec2_does_not_list_yet_is_waited_for(ec2: Any, volume_id: str) -> None:
    with answers(ec2, "DescribeSnapshots", UNLISTED) as left:
        take()
    assert left == []
    assert len(snapshots_of(ec2, volume_id)) == 1


def test_the_list_shows_a_volumes_snapshots_also_when_it_is_deleted(ec2: Any, volume_id: str) -> None:
    assert snapshots.listed_table("mysql") == "no snapshots of mysql"
    snapshot_id = take()
    ec2.delete_volume(VolumeId=volume_id)
    header, row = snapshots.listed_table("mysql").splitlines()
    assert header.split()[0] == "SNAPSHOT"
    assert row.split()[:5] == [snapshot_id, "mysql", "own", "2", "GiB"]
    assert snapshots.listed_table("") == snapshots.listed_table("mysql")


@pytest.mark.usefixtures("volume_id")
@pytest.mark.parametrize(
    ("volume", "reason"),
    [
        ("archive", "the stack has no volume archive: it has mysql, shared"),
        ("shared", "volume shared is fs-0123, which is not an EBS volume"),
    ],
)
def test_what_has_no_snapshots_is_refused(volume: str, reason: str) -> None:
    with pytest.raises(snapshots.SnapshotError, match=reason):
        take(volume)


@pytest.mark.parametrize(
    ("volume", "holds_writes", "said"),
    [("other", True, "MySQL is on volume other, not on mysql"), ("mysql", False, "MySQL cannot block its writes")],
)
def test_quiesce_is_refused_where_mysql_is_not_on_the_volume_or_cannot_hold_its_writes(
    ec2: Any, volume_id: str, monkeypatch: pytest.MonkeyPatch, volume: str, holds_writes: bool, said: str
) -> None:
    known = ("mysql-server", "default", f"{REGION}a", volume, "root", "secret", "preferred", "")
    monkeypatch.setattr(stack, "database_outputs", lambda: stack.DatabaseOutputs(DATABASES["mysql"], *known))
    monkeypatch.setattr(Database, "holds_writes", holds_writes)
    with pytest.raises(snapshots.SnapshotError, match=said):
        take(quiesce=True)
    assert snapshots_of(ec2, volume_id) == []


class Session:
    """A session that holds MySQL's writes, and may end while EC2 accepts the snapshot."""

    errors = (pymysql.err.MySQLError,)
    holds_writes = True

    def __init__(self, ends: bool) -> None:
        self.ends = ends

    @contextlib.contextmanager
    def read_only(self, _at: object) -> Iterator[Callable[[], None]]:
        def refuse_ended() -> None:
            if self.ends:
                raise pymysql.err.OperationalError(2013, "Lost connection")

        yield refuse_ended


@pytest.mark.parametrize("ends", [False, True])
def test_a_snapshot_under_which_the_writes_went_on_is_not_a_quiesced_one(
    ec2: Any, volume_id: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], ends: bool
) -> None:
    known = ("mysql-server", "default", f"{REGION}a", "mysql", "root", "secret", "preferred", "")
    monkeypatch.setattr(stack, "database_outputs", lambda: stack.DatabaseOutputs(DATABASES["mysql"], *known))
    monkeypatch.setattr(Database, "of", lambda _: Session(ends))
    at = SimpleNamespace(endpoint=lambda timeout_s: SimpleNamespace(host="10.0.0.1", port=3306))
    monkeypatch.setattr(snapshots, "database_cluster", lambda _: at)
    said = r"(snap-\w+) is begun, and the session that held MySQL's writes has ended .*--snapshot-id \1$"
    with pytest.raises(snapshots.SnapshotError, match=said) if ends else contextlib.nullcontext():
        take(quiesce=True)
    [taken] = snapshots_of(ec2, volume_id)
    assert capsys.readouterr().out == ("" if ends else f"{taken}  mysql  {volume_id}  mysql ({volume_id})\n")


def test_a_volume_that_ec2_has_no_more_is_named(ec2: Any, volume_id: str) -> None:
    ec2.delete_volume(VolumeId=volume_id)
    with pytest.raises(
        snapshots.SnapshotError, match=f"EC2 has no volume {volume_id} any more, which volume mysql is in the stack"
    ):
        take()


def test_credentials_of_another_account_take_and_list_nothing(
    ec2: Any, volume_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stack, "aws_place", lambda: AwsPlace(REGION, "222222222222"))
    said = (
        r"is in account 222222222222, but the AWS credentials are of account 123456789012 .*Use the credentials of the"
    )
    with pytest.raises(ProviderError, match=said):
        take()
    with pytest.raises(ProviderError, match=said):
        snapshots.listed_table("mysql")


def test_a_snapshot_that_is_not_waited_for_is_found_again_by_its_mark(ec2: Any, volume_id: str) -> None:
    own = snapshots.Snapshots("mysql")
    own.refuse_unpermitted()
    assert snapshots_of(ec2, volume_id) == []
    assert own.newest("mark") is None
    first, second = (own.begin("before", {"mark": mark}) for mark in ("one", "two"))
    found = own.newest("mark")
    assert found is not None
    assert (found.volume_id, found.id in (first, second)) == (volume_id, True)
    assert found.tags["team"] == "db"
    with empty_first_pages(ec2):
        assert own.newest("mark") == found


def test_a_volume_of_which_ec2_takes_no_snapshot_says_so_beforehand(ec2: Any, volume_id: str) -> None:
    own = snapshots.Snapshots("mysql")
    said = rf"EC2 does not take a snapshot of {volume_id}: .* Allow ec2:CreateSnapshot"
    with answers(ec2, "CreateSnapshot", DENIED), pytest.raises(ProviderError, match=said):
        own.refuse_unpermitted()
    with pytest.raises(snapshots.SnapshotError, match="not an EBS volume"):
        snapshots.Snapshots("shared")


def test_one_that_ec2_does_not_begin_yet_is_tried_again(ec2: Any, volume_id: str) -> None:
    too_soon = ("SnapshotCreationPerVolumeRateExceeded", "ConcurrentSnapshotLimitExceeded")
    with answers(ec2, "CreateSnapshot", *too_soon) as left:
        made = snapshots.Snapshots("mysql").begin("before the upgrade", {})
    assert (left, snapshots_of(ec2, volume_id)) == ([], [made])


def test_one_that_nothing_needs_and_ec2_does_not_delete_is_named_and_stops_nothing(
    ec2: Any, volume_id: str, capsys: pytest.CaptureFixture[str]
) -> None:
    own = snapshots.Snapshots("mysql")
    made = made_snapshot(ec2, volume_id, {})
    with answers(ec2, "DeleteSnapshot", DENIED):
        own.drop(made)
    assert f"snapshot {made} is left, and nothing needs it any more: " in capsys.readouterr().err
    own.drop(made)
    assert not snapshots_of(ec2, volume_id)


AWAY = "eu-central-1"
SCHEDULES = [{"name": "daily", "copies": [{"region": AWAY, "keepDays": 7}, {"region": "eu-west-3", "keepDays": 7}]}]
COPYING = {"nomad-stateful:volumes": [{"name": "mysql", "snapshots": SCHEDULES}, {"name": "other", "snapshots": []}]}


def scheduled(client: Any, volume_id: str, **tags: str) -> str:
    """A snapshot as the service leaves it, with the volume's tags."""
    return made_snapshot(client, volume_id, {SNAPSHOTS_TAG: "project/prod/mysql", **tags})


def away(region: str, **tags: str) -> str:
    """A copy: its volume is one that the stack does not know."""
    client = boto3.client("ec2", region_name=region)
    return scheduled(client, made_volume(client, zone=f"{region}a"), **tags)


def listed(volume: str = "mysql") -> dict[str, list[str]]:
    """The rows of the table by id: volume, stack, region (where there is one), size, unit."""
    return {row.split()[0]: row.split()[1:6] for row in snapshots.listed_table(volume).splitlines()[1:]}


def test_an_existing_volumes_snapshots_are_listed_under_the_stacks_name(ec2: Any, volume_id: str) -> None:
    by_id = scheduled(ec2, volume_id, Name="somebody's disk", **{SNAPSHOTS_TAG: "others/prod/x"})
    gone = made_volume(ec2)
    by_tag = scheduled(ec2, gone, Name="somebody's disk")
    scheduled(ec2, gone, **{SNAPSHOTS_TAG: "project/prod-2/mysql"})
    assert {one: row[0] for one, row in listed().items()} == {by_id: "mysql", by_tag: "mysql"}


def test_copies_in_the_regions_of_the_settings_are_listed_with_their_region(
    ec2: Any, volume_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, copy = scheduled(ec2, volume_id), away(AWAY)
    away("eu-west-1")
    away(AWAY, **{SNAPSHOTS_TAG: "project/staging/mysql"})
    assert listed() == {here: ["mysql", "own", "2", "GiB", "completed"]}
    monkeypatch.setattr(stack, "config", lambda: COPYING)
    assert snapshots.listed_table("mysql").split()[:4] == ["SNAPSHOT", "VOLUME", "STACK", "REGION"]
    assert {one: row[:3] for one, row in listed().items()} == {
        here: ["mysql", "own", REGION],
        copy: ["mysql", "own", AWAY],
    }


def test_what_another_stacks_volume_of_the_same_name_left_is_marked(ec2: Any, volume_id: str) -> None:
    theirs, nobodys = (made_volume(ec2) for _ in range(2))

    def taken(of_volume: str, **tags: str) -> str:
        return made_snapshot(ec2, of_volume, {"Name": "mysql", **tags})

    marked = {
        taken(volume_id): "own",
        # Of an EBS volume that took over from another stack's: what it was taken of counts.
        taken(volume_id, **{STACK_TAG: "project/staging"}): "own",
        taken(nobodys, **{STACK_TAG: "project/prod"}): "own",
        taken(theirs, **{STACK_TAG: "project/staging"}): "project/staging",
        taken(nobodys): "unknown",
    }
    assert {one: row[1] for one, row in listed().items()} == marked


@pytest.mark.parametrize("reason", ["denied", "unreachable"])
def test_a_region_that_does_not_answer_is_named_and_the_others_are_listed(
    ec2: Any, volume_id: str, reason: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failure: Exception = EndpointConnectionError(endpoint_url="https://ec2.eu-west-3.amazonaws.com")
    if reason == "denied":
        error: Any = {"Error": {"Code": "UnauthorizedOperation", "Message": "no"}}
        failure = ClientError(error, "DescribeSnapshots")
    here, copy = scheduled(ec2, volume_id), away(AWAY)
    monkeypatch.setattr(stack, "config", lambda: COPYING)

    def refused(_operation: str) -> None:
        raise failure

    monkeypatch.setattr(ec2_client(AwsPlace("eu-west-3", PLACE.account_id)), "get_paginator", refused)
    assert set(listed()) == {here, copy}
    said = capsys.readouterr().err
    allow = ". Allow ec2:DescribeSnapshots" if reason == "denied" else ""
    assert f"copies in eu-west-3 are not listed: EC2 does not describe snapshots: {failure}{allow}. See" in said


def test_of_a_set_one_volumes_snapshots_are_listed_apart(ec2: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = [made_volume(ec2) for _ in range(2)]
    known = {"volumes": {f"log[{number}]": {"id": one} for number, one in enumerate(ids)}}
    monkeypatch.setattr(stack, "outputs", lambda: known)
    of_set = {SNAPSHOTS_TAG: "project/prod/log"}
    first, second = (scheduled(ec2, one, **of_set) for one in ids)
    assert set(listed("log[0]")) == {first}
    assert {one: row[0] for one, row in listed("").items()} == {first: "log[0]", second: "log[1]"}
