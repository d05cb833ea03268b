"""Each statement of the EBS driver's policy: what it lets the driver do, and what it does not."""

from typing import Any

import pytest

from nomad_stateful.drivers.ebs_policy import Mode, policy
from nomad_stateful.drivers.model import parse_version
from tests.iam.evaluator import Case, EvaluatorError, granted, judge, only, requests

ARN = "arn:aws:ec2:us-west-2:123456789012"
VOLUME, INSTANCE = f"{ARN}:volume/vol-0a", f"{ARN}:instance/i-0a"
SNAPSHOT = "arn:aws:ec2:us-west-2::snapshot/snap-0a"
KEY = "arn:aws:kms:us-west-2:123456789012:key/11111111-2222-3333-4444-555555555555"
OTHER_KEY = KEY.replace("1111", "9999")
TAG = "ebs.csi.aws.com/cluster"
ON = {f"ec2:ResourceTag/{TAG}": "true"}
MADE_BY_DRIVER = {**ON, "ec2:ResourceTag/CSIVolumeName": "pvc-1"}
TAKEN_BY_DRIVER = {**ON, "ec2:ResourceTag/CSIVolumeSnapshotName": "snapshot-1"}
STACKS = {"ec2:ResourceTag/nomad-stateful-stack": "nomad-stateful/prod"}
MADE = {f"aws:RequestTag/{TAG}": "true"}
THROUGH_EC2 = {"kms:ViaService": "ec2.us-west-2.amazonaws.com"}
TO_EC2 = {"kms:GrantIsForAWSResource": "true", **THROUGH_EC2}
OLD, DEFAULT, NEWEST = "v1.45.0", "v1.48.0", "v1.64.0"
DRY_RUN = {"aws:RequestTag/CSIVolumeName": "IopsLimitDryRun", "aws:TagKeys": ("CSIVolumeName",)}
REGISTER = {Mode.REGISTER}


def document(*modes: Mode, keys: tuple[str, ...] = (), version: str = NEWEST, **place: str) -> dict[str, Any]:
    where = {"partition": "aws", "region": "us-west-2", "account_id": "123456789012", **place}
    return policy(modes, **where, kms_key_arns=keys, version=version)


STATEMENTS: dict[str, tuple[set[Mode], list[Case], list[Case]]] = {
    # Statement: the modes it belongs to, what it allows, what it does not.
    "Describe": (
        REGISTER,
        [
            ("ec2:DescribeAvailabilityZones", "*", {}),
            ("ec2:DescribeInstances", "*", {}),
            ("ec2:DescribeInstanceTypes", "*", {}),
            ("ec2:DescribeVolumes", "*", {}),
            ("ec2:DescribeVolumesModifications", "*", {}),
        ],
        [("ec2:DescribeSnapshots", "*", {}), ("ec2:DescribeVolumeStatus", "*", {}), ("ec2:DescribeImages", "*", {})],
    ),
    "AttachManagedVolumes": (
        REGISTER,
        [("ec2:AttachVolume", VOLUME, ON), ("ec2:DetachVolume", VOLUME, ON)],
        [
            ("ec2:AttachVolume", VOLUME, {}),
            ("ec2:DetachVolume", VOLUME, {}),
            ("ec2:AttachVolume", VOLUME, {f"ec2:ResourceTag/{TAG}": "false"}),
            ("ec2:AttachVolume", INSTANCE, ON),
            ("ec2:DeleteVolume", VOLUME, ON),
            ("ec2:AttachVolume", VOLUME.replace("us-west-2", "us-west-1"), ON),
            ("ec2:AttachVolume", VOLUME.replace("123456789012", "210987654321"), ON),
        ],
    ),
    "AttachToInstances": (
        REGISTER,
        [("ec2:AttachVolume", INSTANCE, {}), ("ec2:DetachVolume", INSTANCE, {})],
        [
            ("ec2:AttachVolume", VOLUME, {}),
            ("ec2:TerminateInstances", INSTANCE, {}),
            ("ec2:AttachVolume", INSTANCE.replace("us-west-2", "us-west-1"), {}),
        ],
    ),
    "CreateManagedVolumes": (
        {Mode.DYNAMIC},
        [("ec2:CreateVolume", VOLUME, MADE)],
        [
            ("ec2:CreateVolume", VOLUME, {}),
            ("ec2:CreateVolume", VOLUME, {f"aws:RequestTag/{TAG}": "no"}),
            ("ec2:CreateVolume", SNAPSHOT, MADE),
        ],
    ),
    "TagNewVolumes": (
        {Mode.DYNAMIC},
        [("ec2:CreateTags", VOLUME, {"ec2:CreateAction": "CreateVolume", **MADE})],
        [
            ("ec2:CreateTags", VOLUME, MADE),
            ("ec2:CreateTags", VOLUME, {"ec2:CreateAction": "RunInstances", **MADE}),
            ("ec2:CreateTags", INSTANCE, {"ec2:CreateAction": "CreateVolume"}),
            ("ec2:DeleteTags", VOLUME, ON),
        ],
    ),
    "DeleteManagedVolumes": (
        {Mode.DYNAMIC},
        [("ec2:DeleteVolume", VOLUME, MADE_BY_DRIVER)],
        [
            ("ec2:DeleteVolume", VOLUME, {}),
            ("ec2:DeleteVolume", VOLUME, ON),
            ("ec2:DeleteVolume", VOLUME, MADE_BY_DRIVER | STACKS),
            ("ec2:ModifyVolume", VOLUME, MADE_BY_DRIVER),
        ],
    ),
    "LearnIopsLimits": (
        {Mode.DYNAMIC},
        [("ec2:CreateVolume", VOLUME, DRY_RUN)],
        [
            ("ec2:CreateVolume", VOLUME, {}),
            ("ec2:CreateVolume", VOLUME, DRY_RUN | {"aws:RequestTag/CSIVolumeName": "mysql"}),
            ("ec2:CreateVolume", VOLUME, DRY_RUN | {"aws:TagKeys": ("CSIVolumeName", "Team")}),
            ("ec2:CreateVolume", SNAPSHOT, DRY_RUN),
        ],
    ),
    "CopyManagedVolumes": (
        {Mode.CLONE},
        [("ec2:CopyVolumes", VOLUME, ON)],
        [("ec2:CopyVolumes", VOLUME, {}), ("ec2:CreateVolume", VOLUME, ON)],
    ),
    "CreateManagedCopies": (
        {Mode.CLONE},
        [("ec2:CopyVolumes", VOLUME, MADE)],
        [("ec2:CopyVolumes", VOLUME, {}), ("ec2:CreateVolume", VOLUME, MADE)],
    ),
    "ModifyManagedVolumes": (
        {Mode.EXPAND},
        [("ec2:ModifyVolume", VOLUME, ON)],
        [("ec2:ModifyVolume", VOLUME, {}), ("ec2:DeleteVolume", VOLUME, ON)],
    ),
    "SnapshotManagedVolumes": (
        {Mode.SNAPSHOT},
        [("ec2:CreateSnapshot", VOLUME, ON)],
        [("ec2:CreateSnapshot", VOLUME, {}), ("ec2:CreateSnapshot", SNAPSHOT, MADE)],
    ),
    "CreateManagedSnapshots": (
        {Mode.SNAPSHOT},
        [("ec2:CreateSnapshot", SNAPSHOT, MADE)],
        [("ec2:CreateSnapshot", SNAPSHOT, {}), ("ec2:CreateSnapshot", VOLUME, ON)],
    ),
    "TagNewSnapshots": (
        {Mode.SNAPSHOT},
        [("ec2:CreateTags", SNAPSHOT, {"ec2:CreateAction": "CreateSnapshot", **MADE})],
        [
            ("ec2:CreateTags", SNAPSHOT, MADE),
            ("ec2:CreateTags", VOLUME, {"ec2:CreateAction": "CreateSnapshot", **MADE}),
        ],
    ),
    "DeleteManagedSnapshots": (
        {Mode.SNAPSHOT},
        [("ec2:DeleteSnapshot", SNAPSHOT, TAKEN_BY_DRIVER)],
        [
            ("ec2:DeleteSnapshot", SNAPSHOT, {}),
            ("ec2:DeleteSnapshot", SNAPSHOT, ON),
            ("ec2:DeleteSnapshot", SNAPSHOT, TAKEN_BY_DRIVER | STACKS),
        ],
    ),
    "RestoreManagedSnapshots": (
        {Mode.DYNAMIC, Mode.SNAPSHOT},
        [("ec2:CreateVolume", SNAPSHOT, ON)],
        [
            ("ec2:CreateVolume", SNAPSHOT, {}),
            ("ec2:CreateVolume", VOLUME, {}),
            ("ec2:CreateVolume", SNAPSHOT.replace("us-west-2", "us-west-1"), ON),
        ],
    ),
    "UseVolumeKeys": (
        {Mode.DYNAMIC, Mode.SNAPSHOT},
        [
            ("kms:Decrypt", KEY, THROUGH_EC2),
            ("kms:DescribeKey", KEY, THROUGH_EC2),
            ("kms:GenerateDataKeyWithoutPlaintext", KEY, THROUGH_EC2),
            ("kms:ReEncryptFrom", KEY, THROUGH_EC2),
            ("kms:ReEncryptTo", KEY, THROUGH_EC2),
        ],
        [
            ("kms:Decrypt", KEY, {}),
            ("kms:Decrypt", KEY, {"kms:ViaService": "s3.us-west-2.amazonaws.com"}),
            ("kms:Decrypt", OTHER_KEY, THROUGH_EC2),
            ("kms:CreateGrant", KEY, TO_EC2),
        ],
    ),
    "GrantVolumeKeysToEc2": (
        REGISTER,
        [("kms:CreateGrant", KEY, TO_EC2)],
        [
            ("kms:CreateGrant", KEY, THROUGH_EC2),
            ("kms:CreateGrant", KEY, {"kms:GrantIsForAWSResource": "true"}),
            ("kms:CreateGrant", OTHER_KEY, TO_EC2),
        ],
    ),
}


@pytest.mark.parametrize("sid", STATEMENTS)
def test_a_statement_allows_what_the_driver_does_and_no_more(sid: str) -> None:
    modes, allowed, refused = STATEMENTS[sid]
    assert granted(only(document(*modes, keys=(KEY,)), sid), [*allowed, *refused]) == allowed


def test_every_statement_is_judged() -> None:
    assert sorted(one["Sid"] for one in document(*Mode, keys=(KEY,))["Statement"]) == sorted(STATEMENTS)


@pytest.mark.parametrize(
    ("modes", "sids"),
    [
        (set(), set()),
        (REGISTER, set()),
        ({Mode.DYNAMIC}, {"CreateManagedVolumes", "TagNewVolumes", "DeleteManagedVolumes", "LearnIopsLimits"}),
        ({Mode.CLONE}, {"CopyManagedVolumes", "CreateManagedCopies"}),
        ({Mode.EXPAND}, {"ModifyManagedVolumes"}),
        (
            {Mode.SNAPSHOT},
            {"SnapshotManagedVolumes", "CreateManagedSnapshots", "TagNewSnapshots", "DeleteManagedSnapshots"},
        ),
    ],
)
def test_a_mode_adds_its_own_statements_to_those_for_attaching(modes: set[Mode], sids: set[str]) -> None:
    attaching = {"Describe", "AttachManagedVolumes", "AttachToInstances"}
    assert {statement["Sid"] for statement in document(*modes)["Statement"]} == attaching | sids


@pytest.mark.parametrize(
    ("request_", "since"),
    [
        (("ec2:DescribeVolumeStatus", "*", {}), "v1.46.0"),
        (("ec2:CreateVolume", VOLUME, DRY_RUN), "v1.50.0"),
        (("ec2:CopyVolumes", VOLUME, ON), "v1.51.0"),
        (("ec2:CopyVolumes", VOLUME, MADE), "v1.51.0"),
        (("ec2:CreateTags", VOLUME, {"ec2:CreateAction": "CopyVolumes", **MADE}), "v1.51.0"),
        (("ec2:DescribeInstanceTypes", "*", {}), "v1.59.0"),
    ],
)
def test_what_a_version_began_to_call_is_allowed_from_it_on(request_: Case, since: str) -> None:
    versions = [OLD, DEFAULT, "v1.49.9", "v1.50.0", "v1.51.0", "v1.58.0", "v1.59.0", NEWEST]
    verdicts = judge([document(*Mode, version=version) for version in versions], requests([request_]))
    known = parse_version(since)
    assert [row[0] for row in verdicts] == [parse_version(version) >= known for version in versions]


def test_attaching_alone_lets_ec2_decrypt_but_make_no_data_key() -> None:
    cases: list[Case] = [
        (f"kms:{action}", KEY, THROUGH_EC2) for action in ("Decrypt", "GenerateDataKeyWithoutPlaintext", "ReEncryptTo")
    ]
    assert granted(document(Mode.REGISTER, keys=(KEY,)), cases) == cases[:1]


def test_a_key_is_out_of_reach_where_no_key_is_named() -> None:
    assert granted(document(*Mode), [("kms:Decrypt", KEY, THROUGH_EC2)]) == []


@pytest.mark.parametrize(
    ("partition", "region", "service"),
    [
        ("aws-us-gov", "us-gov-west-1", "ec2.us-gov-west-1.amazonaws.com"),
        ("aws-cn", "cn-north-1", "ec2.cn-north-1.amazonaws.com.cn"),
    ],
)
def test_other_partitions_have_their_own_names(partition: str, region: str, service: str) -> None:
    written = document(*Mode, keys=(KEY,), partition=partition, region=region)
    volume = f"arn:{partition}:ec2:{region}:123456789012:volume/vol-0a"
    cases: list[Case] = [
        ("ec2:DeleteVolume", volume, MADE_BY_DRIVER),
        ("kms:Decrypt", KEY, {"kms:ViaService": service}),
    ]
    assert granted(written, cases) == cases


def test_the_evaluator_refuses_arns_and_keys_that_aws_does_not_know() -> None:
    with_account = SNAPSHOT.replace("::", ":123456789012:")
    with pytest.raises(EvaluatorError, match=r"no\.resource\.types"):
        granted(document(*Mode), [("ec2:DeleteSnapshot", with_account, ON)])
    with pytest.raises(EvaluatorError, match="ec2:Nonsense"):
        granted(document(*Mode), [("ec2:DeleteVolume", VOLUME, {"ec2:Nonsense": "1"})])
