"""Snapshots on schedule of EBS volumes that Pulumi does not make: their tag, and what is refused."""

import json
from typing import Any

import pytest

from nomad_stateful.program import settings
from nomad_stateful.program.prefetch import CallError
from nomad_stateful.program.preflight import scheduled_volumes as preflight
from tests.unit.program.answers import Unanswered, answered
from tests.unit.program.recorder import Resources, planned, record

EBS = "vol-0000000000000000d"
KEY = "nomad-stateful-snapshots"
STACK = "nomad-stateful/test"
DAILY = {"name": "daily", "schedule": "0 3 * * *", "keep": 14}
EXISTING = {"name": "ledger", "provision": "existing", "externalId": EBS, "zone": "us-west-2a"}
MADE = {"name": "made", "provision": "plugin", "zone": "us-west-2a", "sizeGib": 4}


def config(*volumes: dict[str, Any], driver: str = "ebs", **more: Any) -> dict[str, Any]:
    return {"clientRole": "nomad-client", "plugins": [{"id": "csi", "driver": driver, **more}], "volumes": [*volumes]}


def tags(*volumes: dict[str, Any]) -> Resources:
    """The tags that are given to volumes of others, by name."""
    return {name: one for name, one in record(config(*volumes)).items() if one.typ == "aws:ec2/tag:Tag"}


def test_an_existing_volume_gets_the_tag_of_its_policy_and_nothing_else_of_it_changes() -> None:
    resources = record(config({**EXISTING, "snapshots": [DAILY]}))
    tag = resources["snapshots-tag-of-ledger"]
    assert tag.inputs == {"resourceId": EBS, "key": KEY, "value": f"{STACK}/ledger"}
    target = resources["snapshots-of-ledger"].inputs["policyDetails"]["targetTags"]
    assert target == {tag.inputs["key"]: tag.inputs["value"]}
    statements = {one["Sid"]: one for one in json.loads(resources["snapshots-policy"].inputs["policy"])["Statement"]}
    assert statements["SnapshotVolumes"]["Condition"] == {"StringLike": {f"ec2:ResourceTag/{KEY}": f"{STACK}/*"}}
    without = record(config(EXISTING))
    assert set(resources) - set(without) == {
        *("snapshots", "snapshots-role", "snapshots-policy", "snapshots-of-ledger", "snapshots-tag-of-ledger"),
    }


def test_each_volume_that_the_driver_makes_gets_it_once_it_is_there() -> None:
    made = tags({**MADE, "zone": None, "zones": ["us-west-2a", "us-west-2b"], "count": 2, "snapshots": [DAILY]})
    assert set(made) == {"snapshots-tag-of-made[0]", "snapshots-tag-of-made[1]"}
    assert {one.inputs["value"] for one in made.values()} == {f"{STACK}/made"}


def test_a_volume_that_pulumi_makes_has_its_tag_from_the_start_and_no_second_one() -> None:
    assert tags({"name": "data", "zone": "us-west-2a", "sizeGib": 4, "snapshots": [DAILY]}) == {}


@pytest.mark.parametrize(
    ("volume", "driver"),
    [
        ({"name": "share", "provision": "existing", "externalId": "fs-0123456789abcdef0", "fsType": ""}, "efs"),
        ({"name": "try", "provision": "plugin", "sizeGib": 1, "fsType": ""}, "hostpath"),
    ],
)
def test_other_storage_has_no_schedules(volume: dict[str, Any], driver: str) -> None:
    modes = {"accessMode": "multi-node-multi-writer"} if driver == "efs" else {}
    with pytest.raises(settings.SettingsError) as refused:
        settings.parse(config({**volume, **modes, "snapshots": [DAILY]}, driver=driver))
    (problem,) = refused.value.problems
    assert (problem.key, problem.value) == (f"volumes.{volume['name']}.snapshots", "1 schedules")
    assert f"AWS takes no snapshots of volumes of the {driver} driver" in problem.rule


def said_of(value: dict[str, Any] | Exception) -> list[str]:
    """What is refused where EC2 answers this about the existing volume."""
    wanted = planned(config({**EXISTING, "snapshots": [DAILY]}))
    return [str(one) for one in preflight.problems(wanted, STACK, "us-west-2", {"ledger": answered(value)})]


@pytest.mark.parametrize("holder", [{}, {KEY: f"{STACK}/ledger"}, {KEY: f"{STACK}/under-another-name"}, {"Name": "x"}])
def test_a_volume_without_the_tag_of_another_stack_is_scheduled(holder: dict[str, str]) -> None:
    assert said_of({"tags": holder, "availabilityZone": "us-west-2a"}) == []


@pytest.mark.parametrize("holder", ["others/prod/ledger", f"{STACK}-2/ledger"])
def test_a_volume_that_another_stack_schedules_is_refused_with_that_stacks_name(holder: str) -> None:
    (said,) = said_of({"tags": {KEY: holder}, "availabilityZone": "us-west-2a"})
    assert f"volumes.ledger.snapshots is of {EBS}: it has the tag {KEY}: {holder}" in said
    assert f"aws ec2 delete-tags --resources {EBS} --tags Key={KEY}" in said


def test_a_volume_that_ec2_does_not_return_or_that_is_elsewhere_is_refused() -> None:
    (missing,) = said_of(CallError("Your query returned no results"))
    assert f"volumes.ledger.externalId is {EBS}" in missing
    assert "EC2 does not return it in us-west-2: Your query returned no results" in missing
    (elsewhere,) = said_of({"availabilityZone": "us-west-2b"})
    assert f"volumes.ledger.zone is us-west-2a: {EBS} is in us-west-2b" in elsewhere


def test_only_existing_volumes_with_schedules_are_asked_for() -> None:
    prefetch: Any = Unanswered()
    scheduled = {"snapshots": [DAILY]}
    volumes = (
        {**EXISTING, **scheduled},
        {**MADE, **scheduled},
        {**EXISTING, "name": "o", "externalId": EBS[:-1] + "e"},
    )
    assert set(preflight.ask(planned(config(*volumes)), prefetch)) == {"ledger"}
    filters = [{"name": "volume-id", "values": [EBS]}]
    assert prefetch.calls == [("aws:ebs/getVolume:getVolume", {"filters": filters})]
