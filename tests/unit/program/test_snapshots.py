"""Settings of scheduled snapshots, and what they become."""

from __future__ import annotations

import json
from typing import Any

import pytest

from nomad_stateful.program import settings
from nomad_stateful.program.settings import SettingsError
from nomad_stateful.program.settings.snapshots import to_aws
from tests.unit.program.recorder import Resources, record

KEY = "arn:aws:kms:eu-central-1:123456789012:key/12345678-1234-1234-1234-123456789012"
DAILY = {"name": "daily", "schedule": "0 3 * * *", "keep": 14}
COPY = {"region": "eu-central-1", "keepDays": 30, "kmsKeyArn": KEY}


def config(*snapshots: dict[str, Any], **volume: Any) -> dict[str, Any]:
    """A stack with a volume that has these schedules, and one without any."""
    data = {"name": "data", "zone": "us-west-2a", "sizeGib": 10, **volume}
    return {
        "clientRole": "nomad-client",
        "plugins": [{"id": "aws-ebs0"}],
        "volumes": [
            {**data, **({"snapshots": list(snapshots)} if snapshots else {})},
            {"name": "cache", "zone": "us-west-2b", "sizeGib": 4},
        ],
    }


def refused(*snapshots: dict[str, Any], **volume: Any) -> str:
    """What is said of a configuration that is refused."""
    with pytest.raises(SettingsError) as error:
        settings.parse(config(*snapshots, **volume))
    return str(error.value)


@pytest.fixture(scope="module")
def resources() -> Resources:
    hourly = {"name": "hourly", "schedule": "@hourly", "keep": 24}
    return record(config({**DAILY, "copies": [COPY], "tags": {"tier": "gold"}}, hourly))


def test_without_schedules_nothing_is_new() -> None:
    made = record(config())
    assert not [name for name in made if name.startswith("snapshots")]
    assert "nomad-stateful-snapshots" not in made["ebs-data-us-west-2a"].inputs["tags"]


def test_a_policy_knows_its_volume_by_a_tag_that_no_other_volume_has(resources: Resources) -> None:
    target = resources["snapshots-of-data"].inputs["policyDetails"]["targetTags"]
    assert target == {"nomad-stateful-snapshots": "nomad-stateful/test/data"}
    assert target.items() <= resources["ebs-data-us-west-2a"].inputs["tags"].items()
    assert "nomad-stateful-snapshots" not in resources["ebs-cache-us-west-2b"].inputs["tags"]


def test_schedules_retention_copies_and_tags_are_those_of_the_settings(resources: Resources) -> None:
    daily, hourly = resources["snapshots-of-data"].inputs["policyDetails"]["schedules"]
    assert daily == {
        "name": "daily",
        "copyTags": False,
        "tagsToAdd": {
            "Name": "data",
            "nomad-stateful-stack": "nomad-stateful/test",
            "nomad-stateful-snapshots": "nomad-stateful/test/data",
            "tier": "gold",
        },
        "createRule": {"cronExpression": "cron(0 3 * * ? *)"},
        "retainRule": {"count": 14},
        "crossRegionCopyRules": [
            {
                "target": "eu-central-1",
                "encrypted": True,
                "cmkArn": KEY,
                "copyTags": True,
                "retainRule": {"interval": 30, "intervalUnit": "DAYS"},
            }
        ],
    }
    assert (hourly["retainRule"], hourly["createRule"]) == ({"count": 24}, {"cronExpression": "cron(0 * * * ? *)"})


def test_the_role_is_for_the_service_and_this_stack_alone(resources: Resources) -> None:
    trust = json.loads(resources["snapshots-role"].inputs["assumeRolePolicy"])["Statement"][0]
    assert trust["Principal"] == {"Service": "dlm.amazonaws.com"}
    assert trust["Condition"]["StringEquals"] == {"aws:SourceAccount": "123456789012"}
    statements = {one["Sid"]: one for one in json.loads(resources["snapshots-policy"].inputs["policy"])["Statement"]}
    own = {"StringLike": {"ec2:ResourceTag/nomad-stateful-snapshots": "nomad-stateful/test/*"}}
    assert statements["DeleteSnapshots"]["Condition"] == statements["SnapshotVolumes"]["Condition"] == own
    assert statements["UseKeys"]["Resource"] == [KEY]


@pytest.mark.parametrize(
    ("written", "aws"),
    [
        ("0 3 * * *", "cron(0 3 * * ? *)"),
        ("30 */6 * * *", "cron(30 0,6,12,18 * * ? *)"),
        ("0 8-18 * * mon-fri", "cron(0 8-18 ? * 2-6 *)"),
        ("15 4 1,15 */3 *", "cron(15 4 1,15 1,4,7,10 ? *)"),
        ("0 0 * * sun,wed", "cron(0 0 ? * 1,4 *)"),
        ("@weekly", "cron(0 0 ? * 1 *)"),
        ("@monthly", "cron(0 0 1 * ? *)"),
    ],
)
def test_a_schedule_in_the_notation_of_aws(written: str, aws: str) -> None:
    assert to_aws(written) == aws


@pytest.mark.parametrize(
    ("schedule", "said"),
    [
        ("0,30 * * * *", "at most once an hour"),
        ("0 3 1 * mon", "AWS takes one"),
        ("0 3 29 2 *", "once in four years"),
        ("0 3 l * *", "AWS writes otherwise"),
        ("0 3 * *", "five fields"),
        ("0 25 * * *", "not a valid hour"),
    ],
)
def test_a_schedule_that_aws_does_not_take_is_refused(schedule: str, said: str) -> None:
    text = refused({**DAILY, "schedule": schedule})
    assert "volumes.data.snapshots.daily.schedule" in text
    assert said in text


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"keep": None}, "volumes.data.snapshots.daily.keep is not set: neither keep nor keepDays"),
        ({"keepDays": 7}, "keepDays is set as well"),
        ({"keep": 0}, "must be at least 1"),
        ({"keep": 1001}, "must be at most 1000"),
        ({"copies": [{**COPY, "region": "us-west-2", "kmsKeyArn": None}]}, "is the volume's own region"),
        ({"copies": [COPY, COPY]}, "2 of them have this region"),
        ({"copies": [{**COPY, "region": "eu-west-1"}]}, "is a key of eu-central-1"),
        ({"copies": [{**COPY, "encrypted": False}]}, "needs encrypted copies"),
        ({"copies": [{**COPY, "kmsKeyArn": KEY.replace("key/", "alias/")}]}, "not of an alias"),
        ({"copies": [{"region": f"eu-west-{n}", "keepDays": 1} for n in range(1, 5)]}, "must have at most 3 entries"),
        ({"copies": [{"region": "eu-west-1a", "keepDays": 1}]}, "must be the name of a region"),
        ({"tags": {"Name": "x"}}, "reserved"),
        ({"tags": {"nomad-stateful-stack": "x"}}, "reserved"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_made(change: dict[str, Any], said: str) -> None:
    text = refused({key: value for key, value in {**DAILY, **change}.items() if value is not None})
    assert "volumes.data.snapshots.daily" in text
    assert said in text


def test_schedules_have_names_of_their_own_and_one_kind_of_retention() -> None:
    assert "2 of them have this name" in refused(DAILY, DAILY)
    weekly = {"name": "weekly", "schedule": "@weekly", "keepDays": 90}
    assert "all keep by number or all by days" in refused(DAILY, weekly)
    assert "must have at most 4 entries" in refused(*({**DAILY, "name": f"s{n}"} for n in range(5)))


def test_a_tag_of_the_volume_is_not_given_twice() -> None:
    assert "is a tag of the volume" in refused({**DAILY, "tags": {"team": "b"}}, tags={"team": "a"})


def test_a_local_zone_has_no_schedules() -> None:
    assert "Local Zone" in refused(DAILY, zone="us-west-2-lax-1a")


def test_under_a_new_name_the_policy_is_the_same_and_one_of_each_set() -> None:
    made = record(config(DAILY, count=3, renamedFrom="old"))
    assert [name for name in made if name.startswith("snapshots-of")] == ["snapshots-of-data"]
    tags = [made[f"ebs-data[{index}]-us-west-2a"].inputs["tags"]["nomad-stateful-snapshots"] for index in range(3)]
    assert set(tags) == {"nomad-stateful/test/data"}


def test_a_restored_volume_has_its_blocks_loaded_at_the_rate_that_is_set() -> None:
    restored = {"snapshotId": "snap-0123456789abcdef0", "initializationRateMibps": 200}
    made = record(config(**restored))["ebs-data-us-west-2a"].inputs
    assert (made["snapshotId"], made["volumeInitializationRate"]) == ("snap-0123456789abcdef0", 200)


def test_a_volumes_snapshots_have_no_tag_by_which_a_driver_may_delete_them_and_those_of_a_set_keep_their_names() -> (
    None
):
    (alone,) = record(config(DAILY, tags={"team": "db"}))["snapshots-of-data"].inputs["policyDetails"]["schedules"]
    assert alone["copyTags"] is False
    assert alone["tagsToAdd"] == {
        "team": "db",
        "Name": "data",
        "nomad-stateful-stack": "nomad-stateful/test",
        "nomad-stateful-snapshots": "nomad-stateful/test/data",
    }
    (of_set,) = record(config(DAILY, count=3))["snapshots-of-data"].inputs["policyDetails"]["schedules"]
    assert (of_set["copyTags"], of_set.get("tagsToAdd")) == (True, None)


def test_policies_and_roles_have_the_path_of_their_stack() -> None:
    made = record(config(DAILY))
    assert (
        made["ebs-driver-policy"].inputs["path"]
        == made["snapshots-role"].inputs["path"]
        == "/nomad-stateful/nomad-stateful/test/"
    )
