"""Volumes that are made from snapshots: of which volume and stack each is, and whose are refused."""

from typing import Any

import pulumi
import pytest

from nomad_stateful.program import settings
from nomad_stateful.program.prefetch import CallError
from nomad_stateful.program.preflight import restored_snapshots as preflight
from nomad_stateful.program.preflight import volumes
from tests.unit.program.answers import Unanswered, answered
from tests.unit.program.recorder import planned
from tests.unit.program.test_volume_changes import BASE

STACK, OTHER = "nomad-stateful/prod", "nomad-stateful/staging"
SNAPSHOT, SOURCE = "snap-0123456789abcdef0", "vol-0000000000000000d"
RESTORED = {"name": "restored", "zone": "us-west-2a", "sizeGib": 10, "snapshotId": SNAPSHOT}


@pytest.fixture(autouse=True)
def told(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    said: list[str] = []
    monkeypatch.setattr(pulumi, "info", said.append)
    return said


def refused(tags: dict[str, str] | Exception, *, own: str = "", state: str = "completed", **volume: Any) -> list[str]:
    """What is refused where EC2 knows the snapshot with these tags."""
    known = {"snapshotId": SNAPSHOT, "volumeId": SOURCE, "startTime": "2026-11-22T03:00:00Z", "state": state}
    answer = answered(tags if isinstance(tags, Exception) else {**known, "tags": tags})
    new = volumes.judge(planned({**BASE, "volumes": [{**RESTORED, **volume}]}), {}).new
    return [str(one) for one in preflight.problems(new, STACK, {own}, {SNAPSHOT: answer})]


def of(stack: str) -> dict[str, str]:
    return {"Name": "mysql", "nomad-stateful-stack": stack}


def test_a_snapshot_of_the_stack_is_restored_and_said_to_be_of_which_volume(told: list[str]) -> None:
    assert refused(of(STACK)) == []
    (said,) = told
    assert said == (
        f"volume restored is made from the snapshot {SNAPSHOT} of volume mysql ({SOURCE}), of stack {STACK}, begun at "
        "2026-11-22T03:00:00Z."
    )


def test_another_stacks_snapshot_is_refused_with_its_name() -> None:
    (said,) = refused(of(OTHER))
    assert said == (
        f"volumes.restored.snapshotId is {SNAPSHOT}: it is the snapshot {SNAPSHOT} of volume mysql ({SOURCE}), of "
        f"stack {OTHER}, begun at 2026-11-22T03:00:00Z. Choose one of `nomad-stateful snapshots`; to restore that "
        f"stack's data here, set snapshotStack: {OTHER}."
    )


@pytest.mark.parametrize("tag", ["nomad-stateful-snapshots", "nomad-stateful-left"])
def test_the_tags_of_schedules_and_of_volumes_that_moved_say_it_too(tag: str) -> None:
    assert f"of stack {OTHER}" in refused({tag: f"{OTHER}/mysql"})[0]
    assert refused({tag: f"{STACK}/mysql"}) == []


def test_it_is_restored_where_the_settings_name_that_stack(told: list[str]) -> None:
    assert refused(of(OTHER), snapshotStack=OTHER) == []
    assert f"of stack {OTHER}" in told[0]


@pytest.mark.parametrize("tags", [of(STACK), of("nomad-stateful/third"), {}])
def test_the_stack_that_the_settings_name_has_to_be_the_snapshots(tags: dict[str, str]) -> None:
    assert len(refused(tags, snapshotStack=OTHER)) == 1


def test_what_was_taken_of_a_volume_of_the_stack_is_its_own_whatever_its_tags_say() -> None:
    assert refused(of(OTHER), own=SOURCE) == []
    assert refused({"nomad-stateful-restored": "vol-1", **of(OTHER)}, own="vol-1") == []


def test_a_snapshot_without_a_stacks_tag_is_restored_and_said_to_have_none(told: list[str]) -> None:
    assert refused({}) == []
    assert "of vol-0000000000000000d, without the tag of a stack" in told[0]


def test_a_snapshot_that_is_not_there_or_not_complete_is_refused() -> None:
    assert (
        "EC2 does not return it: Your query returned no results"
        in refused(CallError("Your query returned no results"))[0]
    )
    assert "the snapshot is pending. Wait until it is completed" in refused(of(STACK), state="pending")[0]


def test_what_the_driver_restores_needs_the_drivers_tag_which_snapshots_do_not_have_by_themselves() -> None:
    (said,) = refused(of(STACK), provision="plugin")
    assert f"`aws ec2 create-tags --resources {SNAPSHOT} --tags Key=ebs.csi.aws.com/cluster,Value=true`" in said
    assert refused(of(STACK) | {"ebs.csi.aws.com/cluster": "true"}, provision="plugin") == []


def test_each_snapshot_is_asked_for_once_and_a_set_is_refused_once() -> None:
    of_set: dict[str, Any] = {"zone": None, "zones": ["us-west-2a"], "count": 3}
    wanted = planned({**BASE, "volumes": [{**RESTORED, **of_set}, {**RESTORED, "name": "b"}]})
    prefetch: Any = Unanswered()
    preflight.ask(volumes.judge(wanted, {}).new, prefetch)
    filters = [{"name": "snapshot-id", "values": [SNAPSHOT]}]
    assert prefetch.calls == [("aws:ebs/getSnapshot:getSnapshot", {"filters": filters})]
    assert len(refused(of(OTHER), **of_set)) == 1


def test_a_stack_is_named_only_with_a_snapshot_of_it() -> None:
    with pytest.raises(settings.SettingsError, match=r"snapshotStack is .*snapshotId is, which is not set"):
        settings.parse({**BASE, "volumes": [{**RESTORED, "snapshotId": None, "snapshotStack": OTHER}]})
