"""Scheduled snapshots by a clock that is moved: what exists when, with retention and copies."""

from __future__ import annotations

import functools
import json
import urllib.request
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto.backends import get_backend
from moto.server import DomainDispatcherApplication, create_backend_app

from sandbox.cloud import moto_facts
from sandbox.cloud.lifecycle import times
from sandbox.cloud.lifecycle.api import CLOCK_PATH, LifecycleApi
from sandbox.cloud.lifecycle.clock import Clock

ACCOUNT = "123456789012"
HOME, AWAY = "us-west-2", "eu-central-1"
KEY = f"arn:aws:kms:{AWAY}:{ACCOUNT}:key/12345678-1234-1234-1234-123456789012"
MONDAY = datetime(2026, 11, 23, 1, 30, tzinfo=UTC)
TAG = "nomad-stateful-snapshots"


@dataclass
class Account:
    """The service and EC2 as somebody else sees them."""

    url: str
    dlm: Any
    role: str

    def ec2(self, region: str = HOME) -> Any:
        """A client of a region."""
        return _client("ec2", self.url, region)

    def forward(self, **by: float) -> list[str]:
        """Moves the clock; returns what was done meanwhile."""
        body = json.dumps({"forward_s": timedelta(**by).total_seconds()}).encode()
        request = urllib.request.Request(self.url + CLOCK_PATH, data=body, method="POST")
        with urllib.request.urlopen(request, timeout=60) as answer:
            events: list[str] = json.load(answer)["events"]
            return events

    def volume(self, name: str = "data") -> str:
        """Makes a volume that a policy knows by its tag."""
        tags = [{"Key": TAG, "Value": f"p/s/{name}"}, {"Key": "Name", "Value": name}]
        made = self.ec2().create_volume(
            AvailabilityZone=f"{HOME}a", Size=1, TagSpecifications=[{"ResourceType": "volume", "Tags": tags}]
        )
        return str(made["VolumeId"])

    def policy(self, *schedules: dict[str, Any], name: str = "data", **rest: Any) -> str:
        """Makes a policy of these schedules for a volume."""
        return str(self.dlm.create_lifecycle_policy(**self.request(*schedules, name=name), **rest)["PolicyId"])

    def request(self, *schedules: dict[str, Any], name: str = "data") -> dict[str, Any]:
        """What a policy is made by."""
        target = [{"Key": TAG, "Value": f"p/s/{name}"}]
        details = {"ResourceTypes": ["VOLUME"], "TargetTags": target, "Schedules": list(schedules)}
        return {
            "ExecutionRoleArn": self.role,
            "Description": f"Snapshots of {name}",
            "State": "ENABLED",
            "PolicyDetails": details,
        }

    def snapshots(self, region: str = HOME) -> list[str]:
        """When the snapshots that the service made were taken."""
        return sorted(one["StartTime"].strftime("%a %H:%M") for one in self.managed(region))

    def managed(self, region: str) -> list[Any]:
        """The snapshots that the service made, as EC2 describes them."""
        managed = [{"Name": "tag:dlm:managed", "Values": ["true"]}]
        found = self.ec2(region).describe_snapshots(OwnerIds=["self"], Filters=managed)
        return list(found["Snapshots"])


@functools.cache
def _client(service: str, url: str, region: str) -> Any:
    session = boto3.Session(aws_access_key_id="a", aws_secret_access_key="b", region_name=region)
    return session.client(service, endpoint_url=url)  # type: ignore[call-overload]


@pytest.fixture
def account(served: tuple[str, list[Any]], monkeypatch: pytest.MonkeyPatch) -> Account:
    """An account on a Monday at half past one."""
    url, current = served
    backends = get_backend("ec2")[ACCOUNT]
    for region in (HOME, AWAY):
        # moto has thousands of snapshots of its own, among which it would look for ours.
        monkeypatch.setattr(backends[region], "snapshots", {})
        monkeypatch.setattr(backends[region], "volumes", {})
    monkeypatch.setattr(get_backend("iam")[ACCOUNT]["aws"], "roles", {})
    current[:] = [
        LifecycleApi(
            DomainDispatcherApplication(create_backend_app),
            lambda region: backends[region],
            lambda arn: moto_facts.trusts_lifecycle_manager(arn, ACCOUNT),
            ACCOUNT,
            Clock(lambda: MONDAY),
        )
    ]
    trust = {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": "dlm.amazonaws.com"}}
    made = _client("iam", url, HOME).create_role(
        RoleName="snapshots", AssumeRolePolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [trust]})
    )
    return Account(url, _client("dlm", url, HOME), made["Role"]["Arn"])


def schedule(cron: str = "0 3 * * ? *", *, name: str = "daily", copies: Any = (), **retain: Any) -> dict[str, Any]:
    """A schedule, as the API takes it."""
    return {
        "Name": name,
        "CopyTags": True,
        "CreateRule": {"CronExpression": f"cron({cron})"},
        "RetainRule": retain or {"Count": 3},
        "CrossRegionCopyRules": list(copies),
    }


def copy_rule(days: int) -> dict[str, Any]:
    """A copy, encrypted with a key of its region."""
    age = {"Interval": days, "IntervalUnit": "DAYS"}
    return {"Target": AWAY, "Encrypted": True, "CmkArn": KEY, "CopyTags": True, "RetainRule": age}


def test_a_week_of_schedules(account: Account) -> None:
    volume = account.volume()
    account.policy(
        schedule("0 3 * * ? *", Count=3, copies=[copy_rule(5)]), schedule("0 0,6,12,18 * * ? *", name="often", Count=2)
    )
    there = {}
    for day in ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"):
        account.forward(hours=20 if day == "Mon" else 24)
        there[day] = account.snapshots()
    assert there["Mon"] == ["Mon 03:00", "Mon 12:00", "Mon 18:00"]
    assert there["Tue"] == ["Mon 03:00", "Tue 03:00", "Tue 12:00", "Tue 18:00"]
    assert there["Wed"] == ["Mon 03:00", "Tue 03:00", "Wed 03:00", "Wed 12:00", "Wed 18:00"]
    assert there["Sun"] == ["Fri 03:00", "Sat 03:00", "Sun 03:00", "Sun 12:00", "Sun 18:00"]
    # Copies have a retention of their own: five days.
    assert account.snapshots(AWAY) == ["Fri 03:00", "Sat 03:00", "Sun 03:00", "Thu 03:00", "Wed 03:00"]
    copied = account.managed(AWAY)
    assert {one["Encrypted"] for one in copied} == {True}
    tags = {tag["Key"]: tag["Value"] for tag in copied[0]["Tags"]}
    assert (tags["Name"], tags[TAG], tags["aws:dlm:lifecycle-schedule-name"]) == ("data", "p/s/data", "daily")
    assert account.ec2().describe_volumes(VolumeIds=[volume])["Volumes"]


def test_snapshots_kept_for_days_go_when_they_are_that_old(account: Account) -> None:
    account.volume()
    account.policy(schedule(Interval=2, IntervalUnit="DAYS"))
    account.forward(days=3)
    assert account.snapshots() == ["Tue 03:00", "Wed 03:00"]
    account.forward(hours=2)
    assert account.snapshots() == ["Thu 03:00", "Wed 03:00"]


def test_each_volume_of_a_set_keeps_its_own_number(account: Account) -> None:
    for _ in range(2):
        account.volume()
    account.volume("other")
    account.policy(schedule(Count=2))
    account.forward(days=4)
    assert account.snapshots() == ["Thu 03:00", "Thu 03:00", "Wed 03:00", "Wed 03:00"]


def test_a_deleted_policy_takes_no_snapshot_along(account: Account) -> None:
    account.volume()
    policy = account.policy(schedule(Count=2, copies=[copy_rule(1)]))
    account.forward(days=1)
    account.dlm.delete_lifecycle_policy(PolicyId=policy)
    assert account.forward(days=30) == []
    assert (account.snapshots(), account.snapshots(AWAY)) == (["Mon 03:00"], ["Mon 03:00"])


def test_snapshots_outlast_their_volume(account: Account) -> None:
    volume = account.volume()
    account.policy(schedule(Count=2), name="data")
    account.forward(days=2)
    account.ec2().delete_volume(VolumeId=volume)
    assert account.forward(days=9) == []
    assert account.snapshots() == ["Mon 03:00", "Tue 03:00"]


def test_by_age_the_last_snapshot_of_a_deleted_volume_stays(account: Account) -> None:
    volume = account.volume()
    account.policy(schedule(Interval=1, IntervalUnit="DAYS"))
    account.forward(days=2)
    account.ec2().delete_volume(VolumeId=volume)
    account.forward(days=9)
    assert account.snapshots() == ["Tue 03:00"]


def test_a_disabled_policy_neither_takes_nor_deletes(account: Account) -> None:
    account.volume()
    policy = account.policy(schedule(Count=1))
    account.forward(days=1)
    account.dlm.update_lifecycle_policy(PolicyId=policy, State="DISABLED")
    assert account.forward(days=5) == []
    account.dlm.update_lifecycle_policy(PolicyId=policy, State="ENABLED")
    account.forward(days=1)
    assert account.snapshots() == ["Sun 03:00"]


def test_a_smaller_number_deletes_the_rest_with_the_next_snapshot(account: Account) -> None:
    account.volume()
    policy = account.policy(schedule(Count=4))
    account.forward(days=4)
    account.dlm.update_lifecycle_policy(
        PolicyId=policy, PolicyDetails=account.request(schedule(Count=1))["PolicyDetails"]
    )
    assert len(account.snapshots()) == 4
    account.forward(days=1)
    assert account.snapshots() == ["Fri 03:00"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"RetainRule": {}}, "RetainRule has Count, or Interval"),
        ({"RetainRule": {"Count": 1, "Interval": 1, "IntervalUnit": "DAYS"}}, "RetainRule has Count, or Interval"),
        ({"CreateRule": {"CronExpression": "cron(0 3 * * * *)"}}, "one of day-of-month and day-of-week is ?"),
        ({"CreateRule": {"CronExpression": "cron(0,30 3 * * ? *)"}}, "at least an hour"),
        ({"CreateRule": {"CronExpression": "cron(0 24 * * ? *)"}}, "not from 0 to 23"),
        ({"CreateRule": {"CronExpression": "cron(0 0/12 * * ? *)"}}, "0/12 is no number and no range"),
        ({"CreateRule": {"CronExpression": "cron(0 3 ? * MON *)"}}, "MON is no number and no range"),
        ({"CreateRule": {"CronExpression": "cron(0 3 * * ? 2026)"}}, "the sandbox knows no years"),
        ({"CreateRule": {"Interval": 12, "IntervalUnit": "HOURS"}}, "does not have CreateRule.Interval"),
        ({"RetainRule": {"Interval": 1, "IntervalUnit": "MONTHS"}}, "does not have IntervalUnit MONTHS"),
        ({"Name": "a/b"}, "a schedule's name"),
        ({"CrossRegionCopyRules": [copy_rule(1) | {"Target": HOME}]}, "another region"),
        ({"CrossRegionCopyRules": [copy_rule(1) | {"Target": "eu-west-1"}]}, "a key of eu-west-1"),
        ({"CrossRegionCopyRules": [copy_rule(1)] * 4}, "at most 3"),
    ],
)
def test_what_the_service_does_not_take_is_refused(account: Account, change: dict[str, Any], said: str) -> None:
    with pytest.raises(ClientError, match=said):
        account.policy({**schedule(), **change})


def test_a_role_that_the_service_cannot_assume_is_refused(account: Account) -> None:
    request = account.request(schedule()) | {"ExecutionRoleArn": f"arn:aws:iam::{ACCOUNT}:role/nobody"}
    with pytest.raises(ClientError, match="cannot be assumed"):
        account.dlm.create_lifecycle_policy(**request)


def test_a_schedule_does_not_change_from_a_number_to_an_age(account: Account) -> None:
    policy = account.policy(schedule(Count=1))
    by_age = account.request(schedule(Interval=1, IntervalUnit="DAYS"))["PolicyDetails"]
    with pytest.raises(ClientError, match="from count-based to age-based"):
        account.dlm.update_lifecycle_policy(PolicyId=policy, PolicyDetails=by_age)


def test_a_policy_that_is_not_there_is_said_to_be_missing(account: Account) -> None:
    with pytest.raises(ClientError) as missing:
        account.dlm.get_lifecycle_policy(PolicyId="policy-0123456789abcdef0")
    assert missing.value.response["Error"]["Code"] == "ResourceNotFoundException"


@pytest.mark.parametrize(
    ("cron", "hours"),
    [
        ("30 2-4,22 ? * 2,3 *", ["Mon 02:30", "Mon 03:30", "Mon 04:30", "Mon 22:30"]),
        ("0 0,12 23 11 ? *", ["Mon 12:00"]),
    ],
)
def test_the_day_of_a_schedule(cron: str, hours: list[str]) -> None:
    midnight = MONDAY.replace(hour=0, minute=0)
    found = times.of({"CronExpression": f"cron({cron})"}).between(midnight, midnight + timedelta(hours=23, minutes=59))
    assert [moment.strftime("%a %H:%M") for moment in found] == hours
