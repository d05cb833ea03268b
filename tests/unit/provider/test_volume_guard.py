"""What a volume's guard refuses, remembers and says."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from nomad_stateful.ebs.snapshots import Snapshot
from nomad_stateful.ebs.tags import AS_OF_TAG, FIRST, GIVEN_UP_TAG, GUARD_TAG, MOVE_TAG, RESTORED_TAG
from nomad_stateful.ebs.volumes import Attachment, Volume
from nomad_stateful.errors import ProviderError
from nomad_stateful.plugin_server.values import UNKNOWN
from nomad_stateful.provider.resources.volume_guard import VolumeGuard
from nomad_stateful.waiting import Context
from tests.unit.aws import PLACE, REGION, empty_first_pages

NEW: dict[str, Any] = {"volumeName": "mysql", "zone": "us-west-2a", "sizeGib": 2, "protect": False}


class Ec2:
    """EC2 as the guard sees it."""

    def __init__(
        self, *snapshots: Snapshot, made: bool = True, reachable: bool = True, id: str = "vol-1", **volume: Any
    ) -> None:
        self.volume = Volume(id, "available", **{"encrypted": True, **volume}) if made else None
        self.snapshots = {one.id: one for one in snapshots}
        self.reachable = reachable

    def guarded_by(self, guard_id: str) -> Volume | None:
        assert guard_id
        if not self.reachable:
            raise ProviderError("EC2 does not answer")
        return self.volume

    def find(self, snapshot_id: str) -> Snapshot | None:
        return self.snapshots.get(snapshot_id)


class Log:
    """A context that keeps what is told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []
        self.ctx = Context(sink=lambda severity, message, _urn, _ephemeral: self.told.append((severity, message)))


def guard(ec2: Ec2 | None = None) -> VolumeGuard:
    cloud: Any = ec2 or Ec2()
    return VolumeGuard(lambda _place: cloud, lambda _place: cloud)


def first(**inputs: Any) -> dict[str, Any]:
    """The inputs of a guard that was made with these."""
    checked = guard().check(Context(), {}, NEW | inputs)
    assert checked.failures == []
    return checked.inputs


def refusals(olds: dict[str, Any], ec2: Ec2 | None = None, **change: Any) -> str:
    return "\n".join(failure.reason for failure in guard(ec2).check(Context(), olds, NEW | change).failures)


def test_another_zone_is_refused_with_key_value_rule_and_remedy() -> None:
    assert refusals(first(), zone="us-west-2b") == (
        "volumes.mysql.zone is us-west-2b: EBS volumes cannot move, and this one is in us-west-2a. Keep zone: "
        "us-west-2a. To have its data in us-west-2b, run `nomad-stateful move mysql --zone us-west-2b`, which takes "
        "a snapshot and makes a new EBS volume from it: docs/volumes.md, Another zone"
    )


def test_a_volume_that_ec2_lists_on_a_later_page_is_kept_from_another_zone(ec2: Any) -> None:
    olds = first(region=REGION, accountId=PLACE.account_id)
    tags = [{"ResourceType": "volume", "Tags": [{"Key": GUARD_TAG, "Value": olds["guardId"]}]}]
    ec2.create_volume(AvailabilityZone=f"{REGION}a", Size=2, TagSpecifications=tags)
    with empty_first_pages(ec2):
        [refused] = VolumeGuard().check(Context(), olds, {**olds, "zone": "us-west-2b"}).failures
    assert "EBS volumes cannot move" in refused.reason


def test_a_smaller_size_is_refused_and_a_larger_one_is_not() -> None:
    assert refusals(first(), sizeGib=1).startswith(
        "volumes.mysql.sizeGib is 1: EBS volumes cannot shrink, and this one has 2 GiB. Keep sizeGib: 2 or more."
    )
    assert refusals(first(), sizeGib=3) == ""


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"encrypted": False}, "volumes.mysql.encrypted is false: whether an EBS volume is encrypted is fixed"),
        ({"kmsKeyId": "arn:aws:kms:k"}, "volumes.mysql.kmsKeyArn is arn:aws:kms:k: an EBS volume keeps the key"),
        ({"snapshotId": "snap-1"}, "volumes.mysql.snapshotId is snap-1: a volume takes a snapshot's contents when"),
    ],
)
def test_what_else_would_replace_a_volume_is_refused(change: dict[str, Any], said: str) -> None:
    assert said in refusals(first(), **change)


@pytest.mark.parametrize(
    ("was", "is_now", "ec2"),
    [
        ({"encrypted": False}, {"encrypted": True}, {"encrypted": True}),
        ({}, {"kmsKeyId": "arn:aws:kms:k"}, {"encrypted": True, "kms_key_id": "arn:aws:kms:k"}),
        ({"kmsKeyId": "arn:aws:kms:alias/a"}, {"kmsKeyId": "arn:aws:kms:k"}, {"kms_key_id": "arn:aws:kms:k"}),
    ],
)
def test_a_setting_may_become_what_ec2_has_anyway(
    was: dict[str, Any], is_now: dict[str, Any], ec2: dict[str, Any]
) -> None:
    olds = first(**was)
    checked = guard(Ec2(**ec2)).check(Context(), olds, NEW | is_now)
    assert (checked.failures, checked.inputs["guardId"]) == ([], olds["guardId"])
    assert refusals(olds, Ec2(encrypted=False, kms_key_id="arn:aws:kms:other"), **is_now) != ""


def test_a_volume_that_was_never_made_may_still_be_put_right() -> None:
    failed = first(zone="us-west-2z", sizeGib=500, snapshotId="snap-1")
    corrected = guard(Ec2(made=False)).check(Context(), failed, NEW)
    assert corrected.failures == []
    assert corrected.inputs["guardId"] == failed["guardId"]
    assert corrected.inputs["snapshotId"] == ""


def test_without_an_answer_from_ec2_the_volume_is_taken_to_exist() -> None:
    log = Log()
    checked = guard(Ec2(reachable=False)).check(log.ctx, first(), NEW | {"zone": "us-west-2b"})
    assert len(checked.failures) == 1
    assert "it is assumed" in log.told[0][1]


def test_forgetting_the_snapshot_is_fine_and_remembered() -> None:
    forgotten = guard().check(Context(), first(snapshotId="snap-1"), NEW).inputs
    assert forgotten["snapshotId"] == "snap-1"
    assert refusals(forgotten, snapshotId="snap-1") == ""
    assert "snap-2" in refusals(forgotten, snapshotId="snap-2")


def test_one_of_a_set_is_restored_under_another_name() -> None:
    told = refusals(first(volumeName="log[1]"), volumeName="log[1]", zone="us-west-2b")
    assert "nomad-stateful snapshot 'log[1]'" in told
    assert "nomad-stateful move" not in told


def test_the_guards_id_stays_and_is_not_shared() -> None:
    made = first()
    assert guard().check(Context(), made, NEW).inputs == made
    assert first()["guardId"] != made["guardId"]


def test_a_final_snapshot_is_for_volumes_that_are_or_were_protected_unless_said_otherwise() -> None:
    assert first()["finalSnapshot"] is False
    protected = first(protect=True)
    assert protected["finalSnapshot"] is True
    unprotected = guard().check(Context(), protected, NEW).inputs
    assert unprotected["finalSnapshot"] is True
    assert guard().check(Context(), unprotected, NEW | {"finalSnapshot": False}).inputs["finalSnapshot"] is False


def test_values_that_are_not_known_yet_pass() -> None:
    assert refusals(first(), zone=UNKNOWN, sizeGib=UNKNOWN, snapshotId=UNKNOWN, kmsKeyId=UNKNOWN) == ""
    assert first(snapshotId=UNKNOWN)["snapshotId"] is UNKNOWN


def test_bad_inputs_are_refused() -> None:
    assert "volumeName is 'a b'" in refusals({}, volumeName="a b")
    assert "sizeGib is 0" in refusals({}, sizeGib=0)
    assert "colour is not an input here" in refusals({}, colour="red")
    assert refusals({}, volumeName="data[0]") == ""


TAKEN = datetime(2026, 11, 22, 10, 15, tzinfo=UTC)
COMPLETE = Snapshot("snap-1", "vol-1", "completed", TAKEN)
TO_B = {"zone": "us-west-2b", "snapshotId": "snap-1"}


def moving(**snapshot: Any) -> Ec2:
    return Ec2(replace(COMPLETE, **snapshot))


def test_a_volume_that_was_let_go_moves_by_a_snapshot_of_it_and_gets_a_guard_of_its_own() -> None:
    log, olds = Log(), first(moveTo="us-west-2b")
    checked = guard(moving()).check(log.ctx, olds, NEW | TO_B)
    assert checked.failures == []
    assert checked.inputs["leftGuardId"] == olds["guardId"] != checked.inputs["guardId"]
    assert checked.inputs["snapshotId"] == "snap-1"
    [(severity, told)] = log.told
    assert severity == "info"
    assert "moves from us-west-2a to us-west-2b: a new EBS volume is made from snapshot snap-1" in told
    assert "as of 2026-11-22 10:15:00 UTC" in told
    assert "EBS volume vol-1 stays in us-west-2a" in told


def test_after_a_move_the_settings_need_not_name_its_snapshot_and_nothing_differs() -> None:
    there = guard(moving()).check(Context(), first(moveTo="us-west-2b"), NEW | TO_B).inputs
    again = guard(moving()).check(Context(), there, NEW | {"zone": "us-west-2b"})
    assert again.failures == []
    assert again.inputs == there
    assert guard().diff(Context(), "", there, there, again.inputs).detailed == {}


def restored(of: str) -> Ec2:
    """A snapshot of a scratch volume that was restored to a point in time."""
    tags = {RESTORED_TAG: of, AS_OF_TAG: "2026-11-22T11:00:00+00:00"}
    return moving(volume_id="vol-9", tags=tags)


def test_it_moves_by_a_snapshot_as_of_a_point_in_time_too() -> None:
    log = Log()
    checked = guard(restored("vol-1")).check(log.ctx, first(moveTo="us-west-2b"), NEW | TO_B)
    assert checked.failures == []
    assert "as of 2026-11-22 11:00:00 UTC" in log.told[0][1]


def test_what_was_restored_from_another_volume_is_refused() -> None:
    said = refusals(first(moveTo="us-west-2b"), restored("vol-2"), **TO_B)
    assert "it is a snapshot of vol-2, and the volume that moves is vol-1" in said


def attached(mark: str = "", since: str = "2026-11-20 08:00:00 UTC", **volume: Any) -> Ec2:
    """An instance has the volume; the snapshot may be marked."""
    snapshot = replace(COMPLETE, tags={MOVE_TAG: mark} if mark else {})
    return Ec2(snapshot, attachments=[Attachment("i-1", "/dev/xvdaa", "attached", since)], **volume)


@pytest.mark.parametrize("mark", ["", "us-west-2b"])
def test_a_volume_that_can_be_written_to_does_not_move(mark: str) -> None:
    said = refusals(first(moveTo="us-west-2b"), attached(mark), **TO_B)
    assert "volumes.mysql.snapshotId is snap-1: EBS volume vol-1 is attached to i-1, and what is written after" in said
    assert "`nomad-stateful move mysql --zone us-west-2b` stops what uses it" in said


def test_a_volume_that_was_given_up_with_its_zone_moves_though_it_is_attached() -> None:
    given_up = attached(tags={GIVEN_UP_TAG: "2026-11-22 10:15:00 UTC"})
    olds = first(moveTo="us-west-2b")
    assert refusals(olds, given_up, **TO_B) == ""
    inputs = guard(given_up).check(Context(), olds, NEW | TO_B).inputs
    assert guard(given_up).update(Context(), "", olds, olds, inputs)["zone"] == "us-west-2b"


def test_a_volume_that_was_given_up_and_attached_since_does_not_move() -> None:
    back = attached(since="2026-11-22 10:15:01 UTC", tags={GIVEN_UP_TAG: "2026-11-22 10:15:00 UTC"})
    olds = first(moveTo="us-west-2b")
    assert "EBS volume vol-1 is attached to i-1, and what is written after" in refusals(olds, back, **TO_B)
    with pytest.raises(ProviderError, match=r"vol-1 is attached to i-1, .* would stay behind. Nothing was changed"):
        guard(back).update(Context(), "", olds, olds, olds | TO_B)


def test_a_preview_may_try_the_move_by_a_first_snapshot_and_the_update_looks_again() -> None:
    olds = first(moveTo="us-west-2b")
    inputs = guard(attached(FIRST)).check(Context(), olds, NEW | TO_B).inputs
    with pytest.raises(ProviderError, match=r"vol-1 is attached to i-1, .* would stay behind. Nothing was changed"):
        guard(attached(FIRST)).update(Context(), "", olds, olds, inputs)
    assert guard(moving()).update(Context(), "", olds, olds, inputs) == inputs


class LeftEc2(Ec2):
    """A move ended after its guard: there is the volume that it left, and none of its own."""

    def guarded_by(self, guard_id: str) -> Volume | None:
        return super().guarded_by(guard_id) if guard_id == self.left else None

    left = ""


@pytest.fixture
def left() -> tuple[LeftEc2, dict[str, Any]]:
    """EC2, and the guard, which knows the new zone. What uses the volume was started again."""
    olds = first(moveTo="us-west-2b")
    ec2 = LeftEc2(COMPLETE, attachments=[Attachment("i-1", "/dev/xvdaa", "attached")])
    ec2.left = olds["guardId"]
    return ec2, guard(moving()).check(Context(), olds, NEW | TO_B).inputs


@pytest.mark.parametrize(
    "change", [TO_B, {"zone": "us-west-2b"}, TO_B | {"snapshotId": "snap-2"}, TO_B | {"sizeGib": 1}]
)
def test_a_move_that_made_no_volume_does_not_go_on_while_the_one_that_it_left_is_written_to(
    left: tuple[LeftEc2, dict[str, Any]], change: dict[str, Any]
) -> None:
    ec2, olds = left
    assert "EBS volume vol-1 is attached to i-1, and what is written after" in refusals(olds, ec2, **change)
    with pytest.raises(ProviderError, match=r"vol-1 is attached to i-1, .* would stay behind. Nothing was changed"):
        guard(ec2).update(Context(), "", olds, olds, olds)
    ec2.volume = Volume("vol-1", "available", encrypted=True)
    assert refusals(olds, ec2, **change) == ""
    assert guard(ec2).update(Context(), "", olds, olds, olds) == olds


def test_a_move_that_made_no_volume_keeps_its_snapshot(left: tuple[LeftEc2, dict[str, Any]]) -> None:
    ec2, olds = left
    ec2.volume = None
    kept = guard(ec2).check(Context(), olds, NEW | {"zone": "us-west-2b", "sizeGib": 1})
    assert (kept.failures, kept.inputs["snapshotId"]) == ([], "snap-1")


def test_a_volume_that_was_moved_stays_while_the_one_that_it_left_has_another_use() -> None:
    there = guard(moving()).check(Context(), first(moveTo="us-west-2b"), NEW | TO_B).inputs
    assert refusals(there, attached(), zone="us-west-2b") == ""


def test_it_moves_by_the_snapshot_that_it_was_made_from() -> None:
    there = guard(moving()).check(Context(), first(moveTo="us-west-2b"), NEW | TO_B).inputs
    leaving = there | {"moveTo": "us-west-2c"}
    by_it = {"zone": "us-west-2c", "snapshotId": "snap-1"}
    again = Ec2(COMPLETE, replace(COMPLETE, id="snap-9"), id="vol-2")
    assert refusals(leaving, again, **by_it) == ""
    assert "it is a snapshot of vol-1" in refusals(leaving, again, **{**by_it, "snapshotId": "snap-9"})


@pytest.mark.parametrize(
    ("change", "ec2", "said"),
    [
        ({"snapshotId": ""}, moving(), "snapshotId is not set: a volume moves by a snapshot of it, here of vol-1"),
        ({}, Ec2(), "snapshotId is snap-1: this account and region have no such snapshot"),
        ({}, moving(volume_id="vol-2"), "it is a snapshot of vol-2, and the volume that moves is vol-1"),
        ({}, moving(state="pending", progress="40%"), "the snapshot is pending (40%). Wait until it is completed"),
        ({}, Ec2(reachable=False), "EC2 does not show the volume that is to move"),
        ({"sizeGib": 1}, moving(), "volumes.mysql.sizeGib is 1: EBS volumes cannot shrink"),
        ({"zone": "us-west-2c"}, moving(), "volumes.mysql.zone is us-west-2c: EBS volumes cannot move"),
    ],
)
def test_a_move_without_the_volumes_own_contents_is_refused(change: dict[str, Any], ec2: Ec2, said: str) -> None:
    assert said in refusals(first(moveTo="us-west-2b"), ec2, **{**TO_B, **change})
