"""The role of scheduled snapshots: each statement allows what the service has to do, and nothing of others."""

from collections.abc import Mapping
from typing import Any

import pytest

from nomad_stateful.drivers.snapshot_policy import policy
from tests.iam.evaluator import Request, judge

HOME, AWAY = "us-west-2", "eu-central-1"
VOLUME = f"arn:aws:ec2:{HOME}:123456789012:volume/vol-0a"
SNAPSHOT, COPY = f"arn:aws:ec2:{HOME}::snapshot/snap-0a", f"arn:aws:ec2:{AWAY}::snapshot/snap-0b"
ELSEWHERE = "arn:aws:ec2:us-east-1::snapshot/snap-0c"
TAG = "nomad-stateful-snapshots"
OWN = {f"ec2:ResourceTag/{TAG}": "nomad-stateful/prod/mysql"}
OTHERS = {f"ec2:ResourceTag/{TAG}": "nomad-stateful/prod-2/mysql"}
KEY = f"arn:aws:kms:{AWAY}:123456789012:key/11111111-2222-3333-4444-555555555555"
THROUGH_EC2 = {"kms:ViaService": f"ec2.{AWAY}.amazonaws.com"}
KEY_POLICY = {
    "Version": "2012-10-17",
    "Statement": [
        {"Effect": "Allow", "Principal": {"AWS": "arn:aws:iam::123456789012:root"}, "Action": "kms:*", "Resource": "*"}
    ],
}

Case = tuple[str, str, Mapping[str, Any]]

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


def requests(cases: list[Case]) -> list[Request]:
    """The cases as questions to IAM."""
    return [
        Request(action, resource, context, resource_policy=KEY_POLICY if ":kms:" in resource else None)
        for action, resource, context in cases
    ]


def reduced(sid: str) -> dict[str, Any]:
    """The policy with one statement alone."""
    whole = document()
    return {**whole, "Statement": [one for one in whole["Statement"] if one["Sid"] == sid]}


def test_every_statement_is_judged_here() -> None:
    assert [one["Sid"] for one in document()["Statement"]] == list(STATEMENTS)


@pytest.mark.parametrize("sid", STATEMENTS)
def test_a_statement_allows_what_it_is_for_and_no_more(sid: str) -> None:
    allowed, denied = STATEMENTS[sid]
    (verdicts,) = judge([reduced(sid)], requests([*allowed, *denied]))
    assert verdicts == [True] * len(allowed) + [False] * len(denied)


def test_without_a_statement_what_it_allows_is_denied() -> None:
    """No statement is there twice over."""
    whole = document()
    for sid, (allowed, _) in STATEMENTS.items():
        rest = {**whole, "Statement": [one for one in whole["Statement"] if one["Sid"] != sid]}
        (verdicts,) = judge([rest], requests(allowed))
        assert not any(verdicts), sid


def test_without_copies_and_keys_nothing_of_other_regions_and_of_kms_is_allowed() -> None:
    plain = document(copy_regions=(), kms_keys=())
    denied: list[Case] = [
        ("ec2:CopySnapshot", SNAPSHOT, {}),
        ("ec2:DeleteSnapshot", COPY, OWN),
        ("kms:Decrypt", KEY, THROUGH_EC2),
    ]
    (verdicts,) = judge([plain], requests(denied))
    assert not any(verdicts)


def test_a_key_that_is_named_by_an_alias_may_be_used_by_that_alias() -> None:
    alias = KEY.rpartition(":")[0] + ":alias/data"
    by_alias = {**THROUGH_EC2, "kms:ResourceAliases": ("alias/data",)}
    cases: list[Case] = [
        ("kms:DescribeKey", KEY, by_alias),
        ("kms:DescribeKey", KEY, {**THROUGH_EC2, "kms:ResourceAliases": ("alias/other",)}),
    ]
    (verdicts,) = judge([document(kms_keys={alias})], requests(cases))
    assert verdicts == [True, False]
