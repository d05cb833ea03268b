"""What a volume's guard refuses, remembers and says."""

from typing import Any

import pytest

from nomad_stateful.plugin_server.plugin import Context, ProviderError
from nomad_stateful.plugin_server.values import UNKNOWN
from nomad_stateful.provider.resources.volume_guard import VolumeGuard

NEW: dict[str, Any] = {"volumeName": "mysql", "zone": "us-west-2a", "sizeGib": 2, "protect": False}


class Ec2:
    """EC2 as the guard sees it."""

    def __init__(self, *, made: bool = True, reachable: bool = True, **described: Any) -> None:
        self.made = made
        self.described = described
        self.reachable = reachable

    def find(self, guard_id: str) -> dict[str, Any] | None:
        assert guard_id
        if not self.reachable:
            raise ProviderError("EC2 does not answer")
        return self.described if self.made else None


class Log:
    """A context that keeps what is told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []
        self.ctx = Context(sink=lambda severity, message, _urn, _ephemeral: self.told.append((severity, message)))


def guard(ec2: Ec2 | None = None) -> VolumeGuard:
    return VolumeGuard(lambda _region: ec2 or Ec2())  # type: ignore[arg-type, return-value]


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
        "us-west-2a. To have its data in us-west-2b, snapshot and restore: take a snapshot (`python -m operate "
        "snapshot mysql`) and give a new volume a new name with zone: us-west-2b and snapshotId: that snapshot's id"
    )


def test_a_smaller_size_is_refused_and_a_larger_one_is_not() -> None:
    assert refusals(first(), sizeGib=1).startswith(
        "volumes.mysql.sizeGib is 1: EBS volumes cannot shrink, and this one has 2 GiB. Keep sizeGib: 2 or more."
    )
    assert refusals(first(), sizeGib=3) == ""


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"encrypted": False}, "volumes.mysql.encrypted is false: whether an EBS volume is encrypted is settled"),
        ({"kmsKeyId": "arn:aws:kms:k"}, "volumes.mysql.kmsKeyArn is arn:aws:kms:k: an EBS volume keeps the key"),
        ({"snapshotId": "snap-1"}, "volumes.mysql.snapshotId is snap-1: a volume takes a snapshot's contents when"),
    ],
)
def test_what_else_would_replace_a_volume_is_refused(change: dict[str, Any], said: str) -> None:
    assert said in refusals(first(), **change)


@pytest.mark.parametrize(
    ("was", "is_now", "ec2"),
    [
        ({"encrypted": False}, {"encrypted": True}, {"Encrypted": True}),
        ({}, {"kmsKeyId": "arn:aws:kms:k"}, {"Encrypted": True, "KmsKeyId": "arn:aws:kms:k"}),
        ({"kmsKeyId": "arn:aws:kms:alias/a"}, {"kmsKeyId": "arn:aws:kms:k"}, {"KmsKeyId": "arn:aws:kms:k"}),
    ],
)
def test_a_setting_may_become_what_ec2_has_anyway(
    was: dict[str, Any], is_now: dict[str, Any], ec2: dict[str, Any]
) -> None:
    olds = first(**was)
    checked = guard(Ec2(**ec2)).check(Context(), olds, NEW | is_now)
    assert (checked.failures, checked.inputs["guardId"]) == ([], olds["guardId"])
    assert refusals(olds, Ec2(Encrypted=False, KmsKeyId="arn:aws:kms:other"), **is_now) != ""


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
    assert "taken for granted" in log.told[0][1]


def test_forgetting_the_snapshot_is_fine_and_remembered() -> None:
    forgotten = guard().check(Context(), first(snapshotId="snap-1"), NEW).inputs
    assert forgotten["snapshotId"] == "snap-1"
    assert refusals(forgotten, snapshotId="snap-1") == ""
    assert "snap-2" in refusals(forgotten, snapshotId="snap-2")


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
