"""A program's life on the real Pulumi engine, from nothing to nothing, and what it is refused at preview."""

from __future__ import annotations

from typing import Any

import pytest

from tests.providers.aws.program import SETTINGS
from tests.providers.engine_stack import Stack
from tests.providers.moto_account import ACCOUNT

pytestmark = pytest.mark.engine


@pytest.fixture
def stack(undeployed: Stack) -> Stack:
    """A stack of which nothing is deployed, as it begins."""
    undeployed.configure(SETTINGS)
    return undeployed


def test_a_programs_whole_life(stack: Stack, aws: Any) -> None:
    assert "4 to create" in stack.run("preview") or "5 to create" in stack.run("preview")
    assert aws.ec2.describe_volumes()["Volumes"] == []
    stack.run("up", "--yes", "--skip-preview")
    first = stack.outputs()
    assert (first["account"], first["region"]) == (ACCOUNT, "us-west-2")
    stack.run("preview", "--expect-no-changes")
    stack.run("refresh", "--yes", "--skip-preview", "--expect-no-changes")

    grown = {**SETTINGS, "trial:size": "3", "trial:tags": {"team": "db"}}
    stack.configure(grown)
    assert "2 updated" in stack.run("up", "--yes", "--skip-preview")
    second = stack.outputs()
    assert (second["volume"], second["policy"]) == (first["volume"], first["policy"])
    assert aws.ec2.describe_volumes(VolumeIds=[first["volume"]])["Volumes"][0]["Size"] == 3

    stack.configure({**grown, "trial:zone": "us-west-2b"})
    assert "data" in stack.run("up", "--yes", "--skip-preview")
    assert stack.outputs()["volume"] != first["volume"]
    stack.run("preview", "--expect-no-changes")

    stack.run("destroy", "--yes", "--skip-preview")
    assert aws.ec2.describe_volumes()["Volumes"] == []
    assert aws.iam.list_policies(Scope="Local")["Policies"] == []


def test_bad_input_is_refused_at_preview(stack: Stack) -> None:
    stack.configure({**SETTINGS, "trial:zone": "us-east-1f"})
    assert "zone 'us-east-1f' is not in region 'us-west-2'" in stack.run("preview", fails=True)


def test_another_account_is_refused_at_preview(stack: Stack) -> None:
    stack.configure({**SETTINGS, "aws:allowedAccountIds": ["111111111111"]})
    said = stack.run("preview", fails=True)
    assert f"AWS account ID not allowed: {ACCOUNT}" in said


def test_an_unreachable_aws_is_one_sentence_at_preview(stack: Stack) -> None:
    said = stack.run("preview", fails=True, env={"AWS_ENDPOINT_URL": "http://127.0.0.1:9"})
    assert "cannot reach AWS at http://127.0.0.1:9: the connection was refused" in said
    assert "botocore" not in said
