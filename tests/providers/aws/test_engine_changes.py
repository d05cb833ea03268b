"""A program that is deployed on the real Pulumi engine: what its state has, and what changes around it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.providers.aws.program import SETTINGS, resources
from tests.providers.engine_stack import Stack

pytestmark = pytest.mark.engine


@pytest.fixture
def stack(undeployed: Stack) -> Stack:
    """The program deployed as it begins."""
    undeployed.configure(SETTINGS)
    undeployed.run("up", "--yes", "--skip-preview")
    return undeployed


@pytest.fixture
def volume(stack: Stack, aws: Any) -> str:
    """The program's volume."""
    [found] = aws.ec2.describe_volumes(Filters=[{"Name": "tag:Name", "Values": ["data"]}])["Volumes"]
    return str(found["VolumeId"])


def tags_of(aws: Any, volume: str) -> dict[str, str]:
    return {tag["Key"]: tag["Value"] for tag in aws.ec2.describe_volumes(VolumeIds=[volume])["Volumes"][0]["Tags"]}


def test_state_has_the_official_plugins_version_and_keeps_secrets(stack: Stack) -> None:
    known = resources(stack)
    provider = next(value for key, value in known.items() if key.startswith("pulumi:providers:aws"))
    assert provider["inputs"]["version"] == "7.51.1"
    inline = known["aws:iam/rolePolicy:RolePolicy::inline"]
    assert "ciphertext" in inline["inputs"]["policy"]
    assert "ciphertext" in inline["outputs"]["policy"]


def test_drift_is_found_by_refresh_and_put_right(stack: Stack, volume: str, aws: Any) -> None:
    aws.ec2.create_tags(Resources=[volume], Tags=[{"Key": "Name", "Value": "drifted"}])
    assert "1 updated" in stack.run("refresh", "--yes", "--skip-preview")
    assert "1 updated" in stack.run("up", "--yes", "--skip-preview")
    assert tags_of(aws, volume)["Name"] == "data"
    stack.run("preview", "--expect-no-changes")


def test_a_volume_that_exists_is_imported(stack: Stack, aws: Any) -> None:
    found = aws.ec2.create_volume(AvailabilityZone="us-west-2b", Size=2)["VolumeId"]
    stack.configure({**SETTINGS, "trial:found": found})
    assert "1 imported" in stack.run("up", "--yes", "--skip-preview")
    stack.run("preview", "--expect-no-changes")


def test_new_default_tags_reach_every_resource_in_place(stack: Stack, volume: str, aws: Any) -> None:
    stack.configure({**SETTINGS, "aws:defaultTags": {"tags": {"team": "db"}}})
    said = stack.run("up", "--yes", "--skip-preview", "--diff")
    assert "replace" not in said
    assert stack.outputs()["volume"] == volume
    assert tags_of(aws, volume) == {"Name": "data", "team": "db"}
    stack.run("preview", "--expect-no-changes")
