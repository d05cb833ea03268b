from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.providers import moto_account
from tests.providers.aws.program import stack_of_the_program
from tests.providers.engine_stack import Stack
from tests.providers.harness import PluginProcess, plugin_process
from tests.providers.moto_account import empty_account
from tests.providers.plugin_path import plugin_path

PLUGIN = plugin_path("aws")


@pytest.fixture(scope="session")
def moto_url() -> Iterator[str]:
    with moto_account.moto() as url:
        yield url


@pytest.fixture(scope="session")
def plugin_env(moto_url: str) -> dict[str, str]:
    return moto_account.environment(moto_url)


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
    """A plugin with default tags."""
    empty_account()
    with plugin_process(PLUGIN, plugin_env) as process:
        process.configure({"defaultTags": json.dumps({"tags": {"team": "db"}})})
        yield process


@pytest.fixture
def aws(moto_url: str) -> Any:
    """The account as somebody else sees it: clients for ec2 and iam."""
    return moto_account.clients(moto_url)


@pytest.fixture
def role(aws: Any) -> str:
    """The name of a role in the account."""
    return made_role(aws)


@pytest.fixture(scope="module")
def undeployed(tmp_path_factory: pytest.TempPathFactory, plugin_env: dict[str, str], moto_url: str) -> Stack:
    """A module's stack of the program, in an account that has a role and nothing else."""
    empty_account()
    made_role(moto_account.clients(moto_url))
    return stack_of_the_program(tmp_path_factory.mktemp("stack"), plugin_env)


def made_role(aws: Any) -> str:
    """Makes a role; its name."""
    trust = json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole"}]})
    aws.iam.create_role(RoleName="nomad-client", AssumeRolePolicyDocument=trust, Description="clients")
    return "nomad-client"
