"""A volume that EC2 made otherwise than it was set, on the real Pulumi engine, with both of its plugins."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto.ec2.models import ec2_backends

from tests.providers import moto_account
from tests.providers.engine_stack import Stack
from tests.providers.moto_account import ACCOUNT, empty_account
from tests.providers.plugin_path import PROJECT, plugin_path
from tools import toolchain

pytestmark = pytest.mark.engine
KEY, ALIAS = (f"arn:aws:kms:us-west-2:{ACCOUNT}:{name}" for name in ("key/0a", "alias/data"))

PROGRAM = f"""
import pulumi
from nomad_stateful.components.zonal_volumes import ZonalVolumes

common = {{"zone": "us-west-2a", "size_gib": 1, "protect": False}}
volumes = ZonalVolumes("ebs", {{
    "volumes": [
        {{"name": "plain", "encrypted": False, **common}},
        {{"name": "keyed", "kms_key_arn": "{ALIAS}", **common}},
    ],
    "driver_tags": {{}}, "region": "us-west-2", "account_id": "{ACCOUNT}",
}})
pulumi.export("ids", volumes.volume_ids)
"""


@contextmanager
def in_an_account(folder: Path, program: str) -> Iterator[Stack]:
    """A stack with the aws plugin, which finds nomad-csi on PATH, in an empty account."""
    found = toolchain.find()
    binaries = f"{found.bin_dir}:" if found else ""
    path = f"{binaries}{plugin_path('nomad-csi').parent}:{os.environ['PATH']}"
    with moto_account.moto() as url:
        empty_account()
        env = moto_account.environment(url) | {"PYTHONPATH": str(PROJECT), "PATH": path}
        made = Stack(folder, program, {"aws": plugin_path("aws")}, env)
        made.run("config", "set", "aws:region", "us-west-2")
        yield made


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[Stack]:
    with in_an_account(tmp_path, PROGRAM) as made:
        yield made


def test_what_ec2_answers_replaces_no_volume_and_neither_does_anything_else(stack: Stack) -> None:
    stack.run("up", "--yes", "--skip-preview")
    first: dict[str, Any] = stack.outputs()["ids"]
    made = ec2_backends[ACCOUNT]["us-west-2"].volumes
    # As with encryption by default, and as EC2 names an alias's key.
    made[first["plain"]].encrypted, made[first["plain"]].kms_key_id = True, KEY
    made[first["keyed"]].kms_key_id = KEY
    stack.run("refresh", "--yes", "--skip-preview")
    assert "replace" not in stack.run("preview", "--diff", "--expect-no-changes")

    told = stack.run("preview", "--replace", "**ebs-plain-us-west-2a", fails=True)
    assert f"volume plain is {first['plain']}, which would be replaced by an empty one" in told
    assert sorted(made) == sorted(first.values())


def test_a_refresh_by_another_account_is_an_error_and_no_empty_volume_follows(stack: Stack) -> None:
    stack.run("up", "--yes", "--skip-preview")
    first: dict[str, Any] = stack.outputs()["ids"]
    url = stack.env["AWS_ENDPOINT_URL"]
    sts = boto3.client(
        "sts", region_name="us-west-2", endpoint_url=url, aws_access_key_id="a", aws_secret_access_key="b"
    )
    keys = sts.assume_role(RoleArn="arn:aws:iam::222222222222:role/other", RoleSessionName="other")["Credentials"]
    other = {
        "AWS_ACCESS_KEY_ID": keys["AccessKeyId"],
        "AWS_SECRET_ACCESS_KEY": keys["SecretAccessKey"],
        "AWS_SESSION_TOKEN": keys["SessionToken"],
    }
    told = stack.run("up", "--refresh", "--yes", "--skip-preview", fails=True, env=other)
    assert f"is in account {ACCOUNT}, but the AWS credentials are of account 222222222222" in told
    # The engine reads everything at once, so the aws provider has missed the volumes already.
    assert "which would be replaced by an empty one" in stack.run("preview", fails=True)
    assert sorted(ec2_backends[ACCOUNT]["us-west-2"].volumes) == sorted(first.values())
    assert ec2_backends["222222222222"]["us-west-2"].volumes == {}

    # The way out that the documents give: each volume back under its name, with the component as its parent.
    parent = next(urn for urn in urns(stack) if urn.endswith("nomad-csi:index:ZonalVolumes::ebs"))
    for name, volume_id in first.items():
        resource = ("aws:ebs/volume:Volume", f"ebs-{name}-us-west-2a", volume_id)
        options = ("--parent", f"ebs={parent}", "--generate-code=false", "--protect=false", "--yes")
        stack.run("import", *resource, *options, "--skip-preview")
    told = stack.run("up", "--yes")
    assert "replace" not in told
    assert stack.outputs()["ids"] == first
    stack.run("preview", "--expect-no-changes")
    assert sorted(ec2_backends[ACCOUNT]["us-west-2"].volumes) == sorted(first.values())


def urns(stack: Stack) -> list[str]:
    state = json.loads(stack.run("stack", "export"))
    return [str(one["urn"]) for one in state["deployment"]["resources"]]
