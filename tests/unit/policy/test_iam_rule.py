"""IAM policies that reach everything, and those that only seem to."""

import json
from typing import Any

import pytest

from nomad_stateful.drivers.ebs_policy import Mode, policy
from policy.resource import UNKNOWN, Resource
from tests.unit.policy.asking import findings, reported

VOLUMES = "arn:aws:ec2:us-west-2:123456789012:volume/*"


def document(**statement: Any) -> Resource:
    made = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", **statement}]}
    return Resource("aws:iam/policy:Policy", "driver", {"policy": json.dumps(made)})


@pytest.mark.parametrize(
    "statement",
    [
        {"Action": ["ec2:AttachVolume"], "Resource": VOLUMES},
        {"Action": ["ec2:DescribeVolumes", "ec2:Describe*"], "Resource": "*"},
        {"Action": "sts:getcalleridentity", "Resource": ["*"]},
        {"Effect": "Deny", "Action": "*", "Resource": "*"},
    ],
)
def test_a_statement_that_reaches_no_more_than_it_must_passes(statement: dict[str, Any]) -> None:
    assert reported("iam-resources", document(**statement)) == []


def test_the_drivers_own_policy_passes() -> None:
    made = policy(set(Mode), partition="aws", region="us-west-2", account_id="123456789012")
    assert findings("iam-resources", Resource("aws:iam/policy:Policy", "driver", {"policy": json.dumps(made)})) == []


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ({"Action": "ec2:AttachVolume", "Resource": "*"}, "Resource is * for ec2:AttachVolume"),
        ({"Action": ["ec2:DescribeVolumes", "ec2:*"], "Resource": [VOLUMES, "*"]}, "Resource is * for ec2:*"),
        ({"Action": "ec2:D*", "Resource": "*"}, "Resource is * for ec2:D*"),
        ({"Action": "s3:GetObject", "Resource": "arn:aws:s3:::*"}, "Resource is arn:aws:s3:::* for s3:GetObject"),
        ({"NotAction": "iam:*", "Resource": "*"}, "Resource is * for NotAction, which is every other action"),
        (
            {"Action": "ec2:AttachVolume", "NotResource": VOLUMES},
            "NotResource, which is everything else, for ec2:AttachVolume",
        ),
    ],
)
def test_a_statement_that_reaches_everything_is_named(statement: dict[str, Any], said: str) -> None:
    assert reported("iam-resources", document(**statement)) == [f"driver: policy, statement Statement[0]: {said}"]


def test_a_reason_excuses_the_statement_it_is_given_for() -> None:
    asked = document(Sid="Find", Action="s3:ListAllMyBuckets", Resource="*")
    assert reported("iam-resources", asked, reasons={"Find": "buckets are looked up by tag"}) == []
    assert reported("iam-resources", asked, reasons={"Find": " "}) != []
    assert reported("iam-resources", asked, reasons={"Other": "because"}) != []


def test_more_actions_without_resources_can_be_named() -> None:
    asked = document(Action="s3:ListAllMyBuckets", Resource="*")
    assert reported("iam-resources", asked, unscopedActions=["s3:ListAll*"]) == []


def test_inline_policies_of_a_role_are_read_too() -> None:
    text = json.dumps({"Statement": {"Effect": "Allow", "Action": "ec2:*", "Resource": "*"}})
    role = Resource("aws:iam/role:Role", "clients", {"inlinePolicies": [{"policy": text}]})
    assert len(reported("iam-resources", role)) == 1


def test_a_policy_that_is_not_known_yet_is_left_alone_and_one_that_is_no_document_is_named() -> None:
    assert findings("iam-resources", Resource("aws:iam/policy:Policy", "p", {"policy": UNKNOWN})) == []
    for text in ("{", "[]", "{}"):
        said = findings("iam-resources", Resource("aws:iam/policy:Policy", "p", {"policy": text}))
        assert said == ["policy is not a policy document in JSON"]
