from __future__ import annotations

import json
import os
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import boto3
import pytest
from moto.server import ThreadedMotoServer

from tests.providers.harness import PluginProcess, plugin_process
from tests.providers.moto_account import REGION, empty_account, reset_account
from tests.providers.plugin_path import plugin_path

PLUGIN = plugin_path("aws")


@pytest.fixture(scope="session")
def moto_url() -> Iterator[str]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    reset_account()
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture(scope="session")
def plugin_env(moto_url: str) -> dict[str, str]:
    return {
        "AWS_ENDPOINT_URL": moto_url,
        "AWS_ACCESS_KEY_ID": "AKIATESTTESTTESTTEST",
        "AWS_SECRET_ACCESS_KEY": "made-up-secret",
        "AWS_REGION": REGION,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    }


@pytest.fixture(scope="session")
def shared_plugin(plugin_env: dict[str, str]) -> Iterator[PluginProcess]:
    with plugin_process(PLUGIN, plugin_env) as plugin:
        plugin.configure()
        yield plugin


@pytest.fixture
def plugin(shared_plugin: PluginProcess) -> PluginProcess:
    """A configured plugin on an empty account."""
    empty_account()
    shared_plugin.engine.messages.clear()
    return shared_plugin


@pytest.fixture
def tagging_plugin(plugin_env: dict[str, str]) -> Iterator[PluginProcess]:
    """A plugin with default and ignored tags."""
    empty_account()
    with plugin_process(PLUGIN, plugin_env) as process:
        process.configure(
            {"defaultTags": json.dumps({"tags": {"team": "db"}}), "ignoreTags": json.dumps({"keys": ["patched-by"]})}
        )
        yield process


@pytest.fixture
def aws(moto_url: str) -> Any:
    """The account as somebody else sees it: clients for ec2 and iam."""
    session = boto3.Session(aws_access_key_id="other", aws_secret_access_key="other", region_name=REGION)
    ec2, iam = (session.client(name, endpoint_url=moto_url) for name in ("ec2", "iam"))
    return SimpleNamespace(ec2=ec2, iam=iam)


@pytest.fixture
def role(aws: Any) -> str:
    """The name of a role in the account."""
    trust = json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole"}]})
    aws.iam.create_role(RoleName="nomad-client", AssumeRolePolicyDocument=trust, Description="clients")
    return "nomad-client"
