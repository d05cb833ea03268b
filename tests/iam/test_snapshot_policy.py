"""The role of scheduled snapshots: each statement allows what the service has to do, and nothing of others."""

from typing import Any

import pytest

from nomad_stateful.drivers.snapshot_policy import policy
from tests.iam.evaluator import Case, granted, of_statement

HOME, AWAY = "us-west-2", "eu-central-1"
VOLUME = f"arn:aws:ec2:{HOME}:123456789012:volume/vol-0a"
SNAPSHOT, COPY = f"arn:aws:ec2:{HOME}::snapshot/snap-0a", f"arn:aws:ec2:{AWAY}::snapshot/snap-0b"
ELSEWHERE = "arn:aws:ec2:us-east-1::snapshot/snap-0c"
TAG = "nomad-stateful-snapshots"
OWN = {f"ec2:ResourceTag/{TAG}": "nomad-stateful/prod/mysql"}
OTHERS = {f"ec2:ResourceTag/{TAG}": "nomad-stateful/prod-2/mysql"}
KEY = f"arn:aws:kms:{AWAY}:123456789012:key/11111111-2222-3333-4444-555555555555"
THROUGH_EC2 = {"kms:ViaService": f"ec2.{AWAY}.amazonaws.com"}

STATEMENTS: dict[str, tuple[list[Case], list[Case]]] = {
    "Describe": (
        [("ec2:DescribeVolumes", "*", {}), ("ec2:DescribeSnapshots", "*", {})],
        [("ec2:DescribeImages", "*", {}), ("ec2:DescribeSnapshotAttribute", SNAPSHOT, {})],
    ),
    "SnapshotVolumes": (
        [("ec2:CreateSnapshot", VOLUME, OWN)],
        [
            ("ec2:CreateSnapshot", VOLUME, {}),
            ("ec2:CreateSnapshot", VOLUME, OTHERS),
            ("ec2:CreateSnapshot", VOLUME.replace(HOME, AWAY), OWN),
            ("ec2:DeleteVolume", VOLUME, OWN),
            ("ec2:CreateTags", VOLUME, OWN),
        ],
    ),
    "MakeSnapshots": ([("ec2:CreateSnapshot", SNAPSHOT, {})], [("ec2:CreateSnapshot", COPY, {})]),
    "TagSnapshots": (
        [("ec2:CreateTags", SNAPSHOT, {}), ("ec2:CreateTags", COPY, {})],
        [("ec2:CreateTags", ELSEWHERE, {}), ("ec2:CreateTags", VOLUME, {}), ("ec2:DeleteTags", SNAPSHOT, OWN)],
    ),
    "DeleteSnapshots": (
        [("ec2:DeleteSnapshot", SNAPSHOT, OWN), ("ec2:DeleteSnapshot", COPY, OWN)],
        [
            ("ec2:DeleteSnapshot", SNAPSHOT, {}),
            ("ec2:DeleteSnapshot", SNAPSHOT, OTHERS),
            ("ec2:DeleteSnapshot", ELSEWHERE, OWN),
            ("ec2:ModifySnapshotAttribute", SNAPSHOT, OWN),
        ],
    ),
    "CopySnapshots": (
        [("ec2:CopySnapshot", COPY, {}), ("ec2:CopySnapshot", SNAPSHOT, {})],
        [("ec2:CopySnapshot", ELSEWHERE, {})],
    ),
    "UseKeys": (
        [("kms:DescribeKey", KEY, THROUGH_EC2), ("kms:GenerateDataKeyWithoutPlaintext", KEY, THROUGH_EC2)],
        [
            ("kms:Decrypt", KEY, {}),
            ("kms:Decrypt", KEY.replace("1111", "9999"), THROUGH_EC2),
            ("kms:ScheduleKeyDeletion", KEY, THROUGH_EC2),
        ],
    ),
    "GrantKeys": (
        [("kms:CreateGrant", KEY, {"kms:GrantIsForAWSResource": "true", **THROUGH_EC2})],
        [("kms:CreateGrant", KEY, THROUGH_EC2)],
    ),
}


def document(**rest: Any) -> dict[str, Any]:
    """The policy of a stack with copies and a key."""
    scope = {"partition": "aws", "region": HOME, "account_id": "123456789012"}
    return policy(TAG, "nomad-stateful/prod", **{"copy_regions": {AWAY}, "kms_keys": {KEY}, **rest}, **scope)


def test_every_statement_is_judged_here() -> None:
    assert [one["Sid"] for one in document()["Statement"]] == list(STATEMENTS)


@pytest.mark.parametrize("sid", STATEMENTS)
def test_a_statement_allows_what_it_is_for_and_no_more(sid: str) -> None:
    allowed, denied = STATEMENTS[sid]
    by_it, by_others = of_statement(document(), sid, [*allowed, *denied])
    assert by_it == allowed
    assert not [case for case in allowed if case in by_others], "no statement is there twice over"


def test_without_copies_and_keys_nothing_of_other_regions_and_of_kms_is_allowed() -> None:
    plain = document(copy_regions=(), kms_keys=())
    denied: list[Case] = [
        ("ec2:CopySnapshot", SNAPSHOT, {}),
        ("ec2:DeleteSnapshot", COPY, OWN),
        ("kms:Decrypt", KEY, THROUGH_EC2),
    ]
    assert granted(plain, denied) == []


def test_a_key_that_is_named_by_an_alias_may_be_used_by_that_alias() -> None:
    alias = KEY.rpartition(":")[0] + ":alias/data"
    by_alias = {**THROUGH_EC2, "kms:ResourceAliases": ("alias/data",)}
    cases: list[Case] = [
        ("kms:DescribeKey", KEY, by_alias),
        ("kms:DescribeKey", KEY, {**THROUGH_EC2, "kms:ResourceAliases": ("alias/other",)}),
    ]
    assert granted(document(kms_keys={alias}), cases) == cases[:1]
