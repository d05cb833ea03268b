"""Which snapshot and which logs a point in time takes."""

from __future__ import annotations

from argparse import ArgumentTypeError
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from nomad_stateful.databases.catalogue import DATABASES
from nomad_stateful.ebs.ec2_client import AwsPlace
from nomad_stateful.ebs.snapshots import Snapshot
from nomad_stateful.ebs.tags import AS_OF_TAG
from nomad_stateful.operate.drill import source
from nomad_stateful.operate.drill.command import COMMAND
from nomad_stateful.operate.drill.model import Options, Target
from nomad_stateful.operate.drill.report import Report
from nomad_stateful.operate.errors import OperateError
from nomad_stateful.operate.point_in_time.logs import PointInTimeError
from nomad_stateful.operate.stack import DatabaseOutputs
from nomad_stateful.waiting import RetryPolicy
from tests.fake_nomad import FakeNomad
from tests.unit.operate.commands import parsed
from tests.unit.operate.group import MEMBERS
from tests.unit.operate.group import OUTPUTS as GROUP_OUTPUTS
from tests.unit.operate.point_in_time.test_logs import Objects, at, bucket

TARGET = Target("mysql", "vol-1", "p/s/mysql", "drill-mysql", "drill", "us-west-2a", "aws-ebs0", "")
KNOWN: dict[str, Any] = {
    "mysql": {"volume": "mysql"},
    "mysqlPointInTime": {"bucket": "b", "prefix": "dev/", "region": "us-west-2"},
}
REPORT = Report("other", at(10))
TAKEN = [Snapshot(f"snap-{minute}", "vol-1", "completed", at(minute)) for minute in (2, 4, 6)]


@pytest.fixture(autouse=True)
def cloud(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three snapshots, and a log a minute from minute 1 to 9."""

    def newest(_place: AwsPlace, _target: Target, before: datetime) -> Snapshot | None:
        return max((one for one in TAKEN if one.taken <= before), key=lambda one: one.taken, default=None)

    monkeypatch.setattr(source, "bucket_of_logs", lambda *_: bucket())
    monkeypatch.setattr(source, "newest", newest)
    monkeypatch.setattr(
        source, "named", lambda _place, _target, options: next(one for one in TAKEN if one.id == options.snapshot)
    )


def test_a_database_whose_logs_are_not_copied_has_no_points_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    without = DATABASES["mysql"]
    monkeypatch.setattr(type(without), "has_logs", False)
    with pytest.raises(OperateError, match="MySQL has no logs that are copied to S3: leave --to out"):
        chosen(at(5).isoformat())


def chosen(to: str, known: dict[str, Any] = KNOWN, **options: Any) -> Report:
    report = Report("mysql", at(10))
    source.replay(DatabaseOutputs.of(known), AwsPlace(), TARGET, Options("mysql", to=to, **options), report)
    return report


@pytest.mark.parametrize(
    ("minute", "snapshot", "count"),
    [(5.5, "snap-4", 3), (6.1, "snap-4", 4), (6.3, "snap-6", 2)],
)
def test_the_newest_snapshot_that_is_surely_of_before_and_the_logs_from_there(
    minute: float, snapshot: str, count: int
) -> None:
    report = chosen(at(minute).isoformat())
    assert report.backup is not None
    assert (report.backup.id, report.logs, report.to) == (snapshot, count, at(minute))
    assert report.rpo_s == pytest.approx((10 - minute) * 60)


def test_rows_that_the_logs_should_have_brought_are_missed() -> None:
    report = chosen("latest")
    report.newest = at(5)
    source.judge_newest(report, 300)
    assert report.ok
    source.judge_newest(report, 60)
    assert ["is 270 s older than the point in time" in one.what for one in report.findings] == [True]


def test_the_latest_is_as_far_as_the_logs_reach() -> None:
    report = chosen("latest")
    assert report.to == at(9.5)
    assert report.backup is not None
    assert report.backup.id == "snap-6"


def test_a_named_snapshot_is_taken_if_it_is_of_before() -> None:
    assert chosen(at(5.5).isoformat(), snapshot="snap-2").backup == TAKEN[0]
    with pytest.raises(OperateError, match="--snapshot snap-6 was taken at 2026-11-22T10:06:00Z, after --to"):
        chosen(at(5.5).isoformat(), snapshot="snap-6")


def test_after_a_snapshot_as_of_a_point_in_time_come_the_logs_from_that_point_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    restored = Snapshot("snap-8", "vol-9", "completed", at(8), tags={AS_OF_TAG: at(2).isoformat()})
    expected = chosen(at(5.5).isoformat(), snapshot="snap-2").logs
    monkeypatch.setattr(source, "named", lambda *_: restored)
    assert chosen(at(5.5).isoformat(), snapshot="snap-8").logs == expected


def test_without_a_snapshot_of_before_there_is_nothing_to_go_on_from() -> None:
    report = chosen(at(1.5).isoformat())
    assert report.backup is None
    source.judge(report, None)
    [finding] = report.findings
    assert "that was begun 15 s before 2026-11-22T10:01:30Z, or earlier" in finding.what


def test_of_a_group_any_members_volume_is_restored_to_a_moment_by_the_job_of_that_member(nomad: FakeNomad) -> None:
    known = {**GROUP_OUTPUTS, "mysqlPointInTime": KNOWN["mysqlPointInTime"]}
    server = DatabaseOutputs.of(known)
    for member in MEMBERS:
        nomad.put(f"job/{member['job']}", {"ID": member["job"], "TaskGroups": [{"Tasks": []}]})
        target = replace(TARGET, volume=member["volume"])
        sources = source.Sources(server, nomad.client(RetryPolicy()), AwsPlace(), target)
        found = sources.choose(Options(member["volume"], to=at(5).isoformat()), Report(member["volume"], at(10)))
        assert found is not None
        with pytest.raises(PointInTimeError, match=f"job {member['job']} copies no binary logs"):
            found.add({})
    with pytest.raises(OperateError, match="volume other is not MySQL's"):
        source.replay(server, AwsPlace(), replace(TARGET, volume="other"), Options("other", to="latest"), REPORT)


def test_what_copies_no_logs_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OperateError, match=r"set mysql.pointInTime"):
        chosen("latest", {"mysql": {"volume": "mysql"}})
    with pytest.raises(OperateError, match="volume mysql is not MySQL's"):
        chosen("latest", {**KNOWN, "mysql": {"volume": "other"}})
    monkeypatch.setattr(source, "bucket_of_logs", lambda *_: Objects({}))
    with pytest.raises(OperateError, match="there is no binary log"):
        chosen("latest")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("yesterday", "is no time"),
        ("2026-11-22T10:15:00", "has no time zone: add Z"),
        ("2999-01-01T00:00:00Z", "is in the future"),
    ],
)
def test_times_that_are_none(text: str, why: str) -> None:
    with pytest.raises(ArgumentTypeError, match=why):
        source.moment(text)


def test_times_are_taken_with_any_zone() -> None:
    assert source.moment("2026-11-22T12:15:00.5+02:00") == "2026-11-22T10:15:00.500000+00:00"
    assert source.moment("latest") == "latest"


def test_a_drill_needs_no_point_in_time() -> None:
    assert parsed(COMMAND).to is None
