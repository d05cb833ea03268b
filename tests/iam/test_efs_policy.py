"""Each statement of the EFS driver's policy."""

import pytest

from nomad_stateful.drivers.efs_policy import Mode, policy
from tests.iam.evaluator import Case, granted, only

PREFIX = "arn:aws:elasticfilesystem:us-west-2:123456789012"
FILE_SYSTEM, ACCESS_POINT = f"{PREFIX}:file-system/fs-0a", f"{PREFIX}:access-point/fsap-0a"
TAG = "efs.csi.aws.com/cluster"
MADE = {f"aws:RequestTag/{TAG}": "true"}
ON = {f"aws:ResourceTag/{TAG}": "true"}
NEW = {"elasticfilesystem:CreateAction": "CreateAccessPoint"}

STATEMENTS: dict[str, tuple[list[Case], list[Case]]] = {
    "DescribeZones": ([("ec2:DescribeAvailabilityZones", "*", {})], [("ec2:DescribeInstances", "*", {})]),
    "DescribeFileSystems": (
        [
            ("elasticfilesystem:DescribeAccessPoints", ACCESS_POINT, {}),
            ("elasticfilesystem:DescribeAccessPoints", FILE_SYSTEM, {}),
            ("elasticfilesystem:DescribeFileSystems", FILE_SYSTEM, {}),
            ("elasticfilesystem:DescribeMountTargets", FILE_SYSTEM, {}),
        ],
        [("elasticfilesystem:DescribeFileSystems", FILE_SYSTEM.replace("us-west-2", "us-west-1"), {})],
    ),
    "CreateManagedAccessPoints": (
        [("elasticfilesystem:CreateAccessPoint", FILE_SYSTEM, MADE)],
        [
            ("elasticfilesystem:CreateAccessPoint", FILE_SYSTEM, {}),
            ("elasticfilesystem:DeleteFileSystem", FILE_SYSTEM, {}),
        ],
    ),
    "TagNewAccessPoints": (
        [("elasticfilesystem:TagResource", ACCESS_POINT, {**NEW, **MADE})],
        [
            ("elasticfilesystem:TagResource", ACCESS_POINT, MADE),
            ("elasticfilesystem:TagResource", ACCESS_POINT, NEW),
            ("elasticfilesystem:TagResource", FILE_SYSTEM, {**NEW, **MADE}),
        ],
    ),
    "DeleteManagedAccessPoints": (
        [("elasticfilesystem:DeleteAccessPoint", ACCESS_POINT, ON)],
        [("elasticfilesystem:DeleteAccessPoint", ACCESS_POINT, {})],
    ),
}


@pytest.mark.parametrize("sid", STATEMENTS)
def test_a_statement_allows_what_the_driver_does_and_no_more(sid: str) -> None:
    whole = policy({Mode.DYNAMIC}, partition="aws", region="us-west-2", account_id="123456789012")
    assert whole is not None
    allowed, refused = STATEMENTS[sid]
    assert granted(only(whole, sid), [*allowed, *refused]) == allowed


def test_every_statement_is_judged() -> None:
    whole = policy(set(Mode), partition="aws", region="us-west-2", account_id="123456789012")
    assert whole is not None
    assert {statement["Sid"] for statement in whole["Statement"]} == set(STATEMENTS)


def test_mounting_what_is_there_needs_no_permission() -> None:
    assert policy({Mode.STATIC}, partition="aws", region="us-west-2", account_id="123456789012") is None
