"""The roles of CI: what a preview and a drill do, and nothing of another stack's state or volumes."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.iam.evaluator import Case, granted

ROLES = Path(__file__).parents[2] / "examples/aws/github"
BUCKET = "arn:aws:s3:::state"
VOLUME = "arn:aws:ec2:us-west-2:123456789012:volume/vol-0a"
KEY = "arn:aws:kms:us-west-2:123456789012:key/11111111-2222-3333-4444-555555555555"
DRILLED = {"ec2:ResourceTag/nomad-stateful-drill": "shop/prod/mysql"}
OTHERS = {"ec2:ResourceTag/nomad-stateful-drill": "shop/prod-2/mysql"}
LIVE = {"ec2:ResourceTag/nomad-stateful-stack": "shop/prod"}

STATE: tuple[list[Case], list[Case]] = (
    [
        ("s3:GetObject", f"{BUCKET}/.pulumi/meta.yaml", {}),
        ("s3:GetObject", f"{BUCKET}/.pulumi/stacks/shop/prod.json", {}),
        ("s3:GetObject", f"{BUCKET}/.pulumi/stacks/shop/prod.json.gz", {}),
        ("s3:ListBucket", BUCKET, {}),
        ("kms:Decrypt", KEY, {}),
    ],
    [
        ("s3:GetObject", f"{BUCKET}/.pulumi/stacks/shop/staging.json", {}),
        ("s3:GetObject", f"{BUCKET}/.pulumi/stacks/shop/prod-2.json", {}),
        ("s3:GetObject", f"{BUCKET}/.pulumi/history/shop/prod/prod-1.checkpoint.json", {}),
        ("s3:PutObject", f"{BUCKET}/.pulumi/stacks/shop/prod.json", {}),
        ("s3:DeleteObject", f"{BUCKET}/.pulumi/stacks/shop/prod.json", {}),
        ("kms:Encrypt", KEY, {}),
        ("iam:AttachRolePolicy", "arn:aws:iam::123456789012:role/nomad-client", {}),
    ],
)
CASES: dict[str, tuple[list[Case], list[Case]]] = {
    "preview": (
        [
            *STATE[0],
            ("ec2:DescribeVolumes", "*", {}),
            ("iam:GetRole", "arn:aws:iam::123456789012:role/nomad-client", {}),
        ],
        [*STATE[1], ("ec2:DeleteVolume", VOLUME, DRILLED), ("ec2:CreateVolume", VOLUME, {})],
    ),
    "drill": (
        [
            *STATE[0],
            ("ec2:DescribeSnapshots", "*", {}),
            ("ec2:CreateVolume", VOLUME, {"aws:RequestTag/nomad-stateful-drill": "shop/prod/mysql"}),
            ("ec2:CreateTags", VOLUME, {"ec2:CreateAction": "CreateVolume"}),
            ("ec2:DetachVolume", VOLUME, DRILLED),
            ("ec2:DeleteVolume", VOLUME, DRILLED),
        ],
        [
            *STATE[1],
            ("ec2:CreateVolume", VOLUME, {}),
            ("ec2:CreateVolume", VOLUME, {"aws:RequestTag/nomad-stateful-drill": "shop/prod-2/mysql"}),
            ("ec2:CreateTags", VOLUME, LIVE),
            ("ec2:DeleteVolume", VOLUME, LIVE),
            ("ec2:DeleteVolume", VOLUME, OTHERS),
            ("ec2:DetachVolume", VOLUME, LIVE),
            ("ec2:DeleteSnapshot", "arn:aws:ec2:us-west-2::snapshot/snap-0a", LIVE),
        ],
    ),
}


def role(name: str) -> dict[str, Any]:
    """The role's policy with names, as docs/ci.md fills it in."""
    text = (ROLES / f"{name}.json").read_text(encoding="utf-8")
    for placeholder, value in (
        ("PROJECT/STACK", "shop/prod"),
        ("STATE_BUCKET", "state"),
        ("STATE_KEY_ARN", KEY),
        ("CLIENT_ROLE", "nomad-client"),
        ("ACCOUNT", "123456789012"),
        ("REGION", "us-west-2"),
    ):
        text = text.replace(placeholder, value)
    return dict(json.loads(text))


def test_a_preview_asks_for_a_given_bucket_by_the_statement_of_the_page() -> None:
    page = (ROLES.parents[2] / "docs/ci.md").read_text(encoding="utf-8")
    [statement] = re.findall(r'^\{"Sid".*DUMPS_BUCKET.*\}$', page, re.MULTILINE)
    dumps = "arn:aws:s3:::dumps"
    asked: list[Case] = [
        ("s3:ListBucket", dumps, {}),
        ("s3:GetBucketLocation", dumps, {}),
        ("s3:GetBucketVersioning", dumps, {}),
    ]
    policy, key = role("preview"), f"{dumps}/shop/prod/20260101T030000Z.sql.gz"
    assert granted(policy, asked) == []
    policy["Statement"].append(json.loads(statement.replace("DUMPS_BUCKET", "dumps")))
    assert granted(policy, [*asked, ("s3:GetObject", key, {}), ("s3:PutObject", key, {})]) == asked


@pytest.mark.parametrize("name", CASES)
def test_a_role_of_ci_does_its_work_and_nothing_of_another_stack(name: str) -> None:
    allowed, refused = CASES[name]
    assert granted(role(name), [*allowed, *refused]) == allowed
