"""How the aws provider's configuration reaches the resources that ask AWS themselves."""

import json
from collections.abc import Iterator
from typing import Any

import pulumi
import pytest
from pulumi.runtime import config, mocks

from nomad_stateful.program.preflight import answers
from tests.unit.program.recorder import Recorder


@pytest.fixture(autouse=True)
def no_configuration() -> Iterator[None]:
    yield
    config.set_all_config({}, [])


def configuration(keys: dict[str, str], *secret: str) -> tuple[dict[str, Any], bool]:
    """What the resources are given, and whether it is a secret."""
    mocks.set_mocks(Recorder())
    config.set_all_config({f"aws:{key}": value for key, value in keys.items()}, [f"aws:{key}" for key in secret])
    known: list[Any] = []

    @pulumi.runtime.test  # type: ignore[untyped-decorator]
    def run() -> pulumi.Output[Any]:
        given = pulumi.Output.from_input(answers.aws_config())
        return pulumi.Output.all(given, given.is_secret()).apply(known.extend)

    run()
    return json.loads(known[0] or "{}"), bool(known[1])


def test_what_is_in_the_environment_leaves_nothing_in_the_state() -> None:
    assert configuration({"region": "us-west-2", "allowedAccountIds": '["111111111111"]'}) == ({}, False)


def test_profile_and_roles_come_along_in_clear() -> None:
    roles = [{"roleArn": "arn:aws:iam::111111111111:role/r"}]
    given = {"profile": "prod", "assumeRoles": json.dumps(roles), "insecure": "false"}
    assert configuration(given) == ({"profile": "prod", "assumeRoles": roles}, False)


@pytest.mark.parametrize("secret", [(), ("secretKey",)])
def test_keys_come_along_as_a_secret(secret: tuple[str, ...]) -> None:
    keys = {"accessKey": "123456789012345678", "secretKey": "s3cret"}
    assert configuration(keys, *secret) == (keys, True)


def test_a_key_that_the_stack_encrypts_stays_secret() -> None:
    assert configuration({"httpsProxy": "http://me:word@proxy"}, "httpsProxy")[1]
