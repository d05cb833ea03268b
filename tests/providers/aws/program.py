"""A program that uses the official SDK, and a stack of it with this plugin in the official one's place."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from tests.providers.engine_stack import Stack
from tests.providers.moto_account import ACCOUNT
from tests.providers.plugin_path import plugin_path

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
allowed = {"Effect": "Allow", "Action": ["ec2:AttachVolume", "ec2:DetachVolume"], "Resource": volume.arn}
document = pulumi.Output.json_dumps({"Version": "2012-10-17", "Statement": [allowed]})
policy = aws.iam.Policy("driver", policy=document, tags=config.get_object("tags"))
aws.iam.RolePolicyAttachment("driver", role=role.name, policy_arn=policy.arn)
aws.iam.RolePolicy("inline", role=role.name, policy=pulumi.Output.secret(document))
if found := config.get("found"):
    aws.ebs.Volume("found", availability_zone="us-west-2b", size=2, opts=pulumi.ResourceOptions(import_=found))
pulumi.export("account", aws.get_caller_identity().account_id)
pulumi.export("region", volume.region)
pulumi.export("volume", volume.id)
pulumi.export("policy", policy.name)
"""

SETTINGS: Final[Mapping[str, Any]] = {"aws:region": "us-west-2", "aws:allowedAccountIds": [ACCOUNT]}
"""The configuration that a stack begins with."""


def stack_of_the_program(folder: Path, plugin_env: Mapping[str, str]) -> Stack:
    """Makes a stack; nothing is deployed."""
    # the stack's configuration says the region
    env = {key: value for key, value in plugin_env.items() if key != "AWS_REGION"}
    return Stack(folder, PROGRAM, {"aws": plugin_path("aws")}, env)


def resources(stack: Stack) -> dict[str, dict[str, Any]]:
    """What the state has, by type and name."""
    deployment = json.loads(stack.run("stack", "export"))["deployment"]
    return {"::".join(resource["urn"].rsplit("::", 2)[1:]): resource for resource in deployment["resources"]}
