"""Which account and region a stack is in, by its own state."""

from typing import Any

import pytest

from operate import stack
from provider.ec2_client import AwsPlace


def place(monkeypatch: pytest.MonkeyPatch, *arns: str, **config: Any) -> AwsPlace:
    resources = [{"type": "aws:ebs/volume:Volume", "outputs": {"arn": arn}} for arn in arns]
    resources.append({"type": "pulumi:pulumi:Stack", "outputs": {"arn": "arn:aws:ec2:x:999999999999:volume/vol-1"}})
    answers = {
        "stack": {"deployment": {"resources": resources}},
        "config": {f"aws:{key}": value for key, value in config.items()},
    }
    monkeypatch.setattr(stack, "_json", lambda *words: answers[words[0]])
    return stack.aws_place.__wrapped__()


def test_account_and_region_are_those_of_the_resources(monkeypatch: pytest.MonkeyPatch) -> None:
    found = place(
        monkeypatch,
        "arn:aws:ec2:us-west-2:111111111111:volume/vol-1",
        "arn:aws:iam::111111111111:policy/ebs",
        "arn:aws:iam::aws:policy/AWS-managed",
        region={"value": "eu-west-1"},
    )
    assert found == AwsPlace("us-west-2", "111111111111")


def test_two_accounts_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    found = place(
        monkeypatch,
        "arn:aws:ec2:us-west-2:111111111111:volume/vol-1",
        "arn:aws:ec2:us-west-2:222222222222:volume/vol-2",
    )
    assert found.account_id == ""


def test_the_aws_providers_configuration_comes_along(monkeypatch: pytest.MonkeyPatch) -> None:
    found = place(
        monkeypatch,
        region={"value": "eu-west-1"},
        profile={"value": "prod"},
        assumeRoles={"value": "[…]", "objectValue": [{"roleArn": "arn:aws:iam::111111111111:role/r"}]},
        defaultTags={"value": "{}", "objectValue": {"tags": {}}},
    )
    assert found.region == "eu-west-1"
    assert found.config == '{"assumeRoles": [{"roleArn": "arn:aws:iam::111111111111:role/r"}], "profile": "prod"}'
