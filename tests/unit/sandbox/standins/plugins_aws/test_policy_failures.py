"""A policy whose creation IAM answers with an error although it took effect."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import botocore.exceptions as boto
import pytest

from nomad_stateful.errors import ProviderError
from nomad_stateful.waiting import Context
from sandbox.standins.plugins.aws.config import parse
from sandbox.standins.plugins.aws.policy import PolicyResource

ARN = "arn:aws:iam::123456789012:policy/driver"
DOCUMENT = '{"Version": "2012-10-17", "Statement": []}'
INPUTS: dict[str, Any] = {"name": "driver", "path": "/", "policy": DOCUMENT, "tagsAll": {}, "__defaults": []}


class FakeIam:
    """IAM that has the policy already, and tells so after so many attempts."""

    def __init__(self, attempts: int) -> None:
        self._retries = attempts - 1

    def create_policy(self, **_request: Any) -> Any:
        error: Any = {
            "Error": {"Code": "EntityAlreadyExists", "Message": "A policy called driver already exists"},
            "ResponseMetadata": {"RetryAttempts": self._retries},
        }
        raise boto.ClientError(error, "CreatePolicy")

    def get_policy(self, **_request: Any) -> Any:
        return {"Policy": {"Arn": ARN, "PolicyName": "driver", "PolicyId": "ANPA1", "DefaultVersionId": "v1"}}

    def get_policy_version(self, **_request: Any) -> Any:
        return {"PolicyVersion": {"Document": DOCUMENT}}


def policies(iam: FakeIam) -> PolicyResource:
    cloud: Any = SimpleNamespace(
        config=parse({"region": "us-west-2"}),
        iam=lambda: iam,
        account_id=lambda: "123456789012",
        arn=lambda service, region, account, resource: f"arn:aws:{service}:{region}:{account}:{resource}",
    )
    return PolicyResource(cloud)


def test_a_policy_that_an_earlier_attempt_of_the_request_made_is_the_one_asked_for() -> None:
    made, outputs = policies(FakeIam(attempts=2)).create(Context(), INPUTS)
    assert (made, outputs["policyId"]) == (ARN, "ANPA1")


def test_a_policy_that_someone_else_made_is_not_taken_over() -> None:
    with pytest.raises(ProviderError, match="EntityAlreadyExists"):
        policies(FakeIam(attempts=1)).create(Context(), INPUTS)
