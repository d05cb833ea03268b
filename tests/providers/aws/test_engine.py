"""A program that uses the official SDK, on the real Pulumi engine, with this plugin in the official one's place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.providers.aws.conftest import PLUGIN
from tests.providers.engine_stack import Stack
from tests.providers.harness import PluginProcess
from tests.providers.moto_account import ACCOUNT

pytestmark = pytest.mark.engine

PROGRAM = """
import pulumi
import pulumi_aws as aws

config = pulumi.Config()
zones = aws.get_availability_zones(state="available")
role = aws.iam.get_role(name="nomad-client")
volume = aws.ebs.Volume(
    "data",
    availability_zone=config.get("zone") or zones.names[0],
    size=config.get_int("size") or 1,
    type="gp3",
    encrypted=True,
    tags={"Name": "data"},
)
snapshot = aws.ebs.Snapshot("saved", volume_id=volume.id)
document = aws.iam.get_policy_document_output(
    statements=[{"actions": ["ec2:AttachVolume", "ec2:DetachVolume"], "resources": [volume.arn]}]
)
policy = aws.iam.Policy("driver", policy=document.json, tags=config.get_object("tags"))
aws.iam.RolePolicyAttachment("driver", role=role.name, policy_arn=policy.arn)
aws.iam.RolePolicy("inline", role=role.name, policy=pulumi.Output.secret(document.json))
if found := config.get("found"):
    aws.ebs.Volume("found", availability_zone="us-west-2b", size=2, opts=pulumi.ResourceOptions(import_=found))
pulumi.export("account", aws.get_caller_identity().account_id)
pulumi.export("region", aws.get_region().region)
pulumi.export("volume", volume.id)
pulumi.export("policy", policy.name)
pulumi.export("running", aws.ec2.get_instances_output(instance_tags={"volume": volume.id}).ids)
"""


@pytest.fixture
def stack(tmp_path: Path, plugin_env: dict[str, str], plugin: PluginProcess, role: str) -> Stack:
    # the stack's configuration says the region
    env = {key: value for key, value in plugin_env.items() if key != "AWS_REGION"}
    made = Stack(tmp_path, PROGRAM, "aws", PLUGIN, env)
    made.run("config", "set", "aws:region", "us-west-2")
    made.run("config", "set", "--path", "aws:allowedAccountIds[0]", ACCOUNT)
    return made


def resources(stack: Stack) -> dict[str, dict[str, Any]]:
    """What the state has, by type and name."""
    deployment = json.loads(stack.run("stack", "export"))["deployment"]
    return {"::".join(resource["urn"].rsplit("::", 2)[1:]): resource for resource in deployment["resources"]}


def test_a_programs_whole_life(stack: Stack, aws: Any) -> None:
    assert "5 to create" in stack.run("preview") or "6 to create" in stack.run("preview")
    assert aws.ec2.describe_volumes()["Volumes"] == []
    stack.run("up", "--yes", "--skip-preview")
    first = stack.outputs()
    assert (first["account"], first["region"], first["running"]) == (ACCOUNT, "us-west-2", [])
    stack.run("preview", "--expect-no-changes")
    stack.run("refresh", "--yes", "--skip-preview", "--expect-no-changes")

    stack.run("config", "set", "size", "3")
    stack.run("config", "set", "--path", "tags.team", "db")
    assert "2 updated" in stack.run("up", "--yes", "--skip-preview")
    second = stack.outputs()
    assert (second["volume"], second["policy"]) == (first["volume"], first["policy"])
    assert aws.ec2.describe_volumes(VolumeIds=[first["volume"]])["Volumes"][0]["Size"] == 3

    stack.run("config", "set", "zone", "us-west-2b")
    assert "data" in stack.run("up", "--yes", "--skip-preview")
    assert stack.outputs()["volume"] != first["volume"]
    stack.run("preview", "--expect-no-changes")

    stack.run("destroy", "--yes", "--skip-preview")
    assert aws.ec2.describe_volumes()["Volumes"] == []
    assert aws.iam.list_policies(Scope="Local")["Policies"] == []


def test_new_default_tags_reach_every_resource_in_place(stack: Stack, aws: Any) -> None:
    stack.run("up", "--yes", "--skip-preview")
    first = stack.outputs()
    stack.run("config", "set", "--path", "aws:defaultTags.tags.team", "db")
    said = stack.run("up", "--yes", "--skip-preview", "--diff")
    assert "replace" not in said
    assert stack.outputs()["volume"] == first["volume"]
    tags = aws.ec2.describe_volumes(VolumeIds=[first["volume"]])["Volumes"][0]["Tags"]
    assert {tag["Key"]: tag["Value"] for tag in tags} == {"Name": "data", "team": "db"}
    stack.run("preview", "--expect-no-changes")


def test_state_has_the_official_plugins_version_and_keeps_secrets(stack: Stack) -> None:
    stack.run("up", "--yes", "--skip-preview")
    known = resources(stack)
    provider = next(value for key, value in known.items() if key.startswith("pulumi:providers:aws"))
    assert provider["inputs"]["version"] == "7.51.1"
    inline = known["aws:iam/rolePolicy:RolePolicy::inline"]
    assert "ciphertext" in inline["inputs"]["policy"]
    assert "ciphertext" in inline["outputs"]["policy"]


def test_drift_is_found_by_refresh_and_put_right(stack: Stack, aws: Any) -> None:
    stack.run("up", "--yes", "--skip-preview")
    volume = stack.outputs()["volume"]
    aws.ec2.create_tags(Resources=[volume], Tags=[{"Key": "Name", "Value": "drifted"}])
    assert "1 updated" in stack.run("refresh", "--yes", "--skip-preview")
    assert "1 updated" in stack.run("up", "--yes", "--skip-preview")
    tags = aws.ec2.describe_volumes(VolumeIds=[volume])["Volumes"][0]["Tags"]
    assert {"Key": "Name", "Value": "data"} in tags
    stack.run("preview", "--expect-no-changes")


def test_a_volume_that_exists_is_imported(stack: Stack, aws: Any) -> None:
    found = aws.ec2.create_volume(AvailabilityZone="us-west-2b", Size=2)["VolumeId"]
    stack.run("config", "set", "found", found)
    assert "1 imported" in stack.run("up", "--yes", "--skip-preview")
    stack.run("preview", "--expect-no-changes")


def test_bad_input_is_refused_at_preview(stack: Stack) -> None:
    stack.run("config", "set", "zone", "us-east-1f")
    assert "zone 'us-east-1f' is not in region 'us-west-2'" in stack.run("preview", fails=True)


def test_another_account_is_refused_at_preview(stack: Stack) -> None:
    stack.run("config", "set", "--path", "aws:allowedAccountIds[0]", "111111111111")
    said = stack.run("preview", fails=True)
    assert f"AWS account ID not allowed: {ACCOUNT}" in said


def test_an_unreachable_aws_is_one_sentence_at_preview(stack: Stack) -> None:
    said = stack.run("preview", fails=True, env={"AWS_ENDPOINT_URL": "http://127.0.0.1:9"})
    assert "cannot reach AWS at http://127.0.0.1:9: the connection was refused" in said
    assert "botocore" not in said
