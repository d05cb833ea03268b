from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.providers.aws.conftest import PLUGIN
from tests.providers.aws.life import Life
from tests.providers.harness import Failed, PluginProcess, plugin_process
from tests.providers.moto_account import ACCOUNT

VOLUME = "aws:ebs/volume:Volume"


@pytest.fixture
def fresh(plugin_env: dict[str, str]) -> Iterator[PluginProcess]:
    with plugin_process(PLUGIN, plugin_env) as plugin:
        yield plugin


@pytest.fixture
def bare(plugin_env: dict[str, str]) -> Iterator[PluginProcess]:
    """A plugin in an environment that names neither a region nor credentials."""
    unset = ("AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
    with plugin_process(PLUGIN, {key: value for key, value in plugin_env.items() if key not in unset}) as plugin:
        yield plugin


def test_checked_configuration_holds_the_official_defaults(fresh: PluginProcess) -> None:
    checked = fresh.check_config({"secretKey": "made-up", "accessKey": "AKIATESTTESTTESTTEST", "version": "7.51.1"})
    assert checked.failures == []
    assert checked.inputs.props == {
        "accessKey": "AKIATESTTESTTESTTEST",
        "secretKey": "made-up",
        "region": "us-west-2",
        "skipCredentialsValidation": "false",
        "skipRegionValidation": "true",
        "version": "7.51.1",
    }
    assert {"accessKey", "secretKey"} <= checked.inputs.secrets


def test_the_configured_account_has_to_be_allowed(fresh: PluginProcess) -> None:
    fresh.configure({"allowedAccountIds": json.dumps([ACCOUNT])})
    with pytest.raises(Failed, match=f"not allowed: {ACCOUNT}.*aws:allowedAccountIds lists 111111111111"):
        fresh.configure({"allowedAccountIds": '["111111111111"]'})
    with pytest.raises(Failed, match=r"aws:forbiddenAccountIds.*--plugins official"):
        fresh.configure({"forbiddenAccountIds": json.dumps([ACCOUNT])})


def test_a_refused_account_leaves_the_plugin_unusable(fresh: PluginProcess) -> None:
    with pytest.raises(Failed):
        fresh.configure({"allowedAccountIds": '["111111111111"]'})
    with pytest.raises(Failed, match="before it was configured"):
        fresh.check(VOLUME, {"availabilityZone": "us-west-2a", "size": 1})


def test_a_missing_region_is_one_clear_sentence(bare: PluginProcess) -> None:
    with pytest.raises(Failed, match=r"aws:region.*pulumi config set aws:region"):
        bare.configure()


def test_missing_credentials_are_one_clear_sentence(bare: PluginProcess) -> None:
    with pytest.raises(Failed, match=r"no valid credential sources found\. Set AWS_ACCESS_KEY_ID"):
        bare.configure({"region": "us-west-2"})


def test_a_missing_profile_is_named(fresh: PluginProcess) -> None:
    with pytest.raises(Failed, match=r"profile \(prod\) could not be found.*aws:profile"):
        fresh.configure({"profile": "prod"})


def test_credentials_come_from_a_named_file_and_profile(bare: PluginProcess, tmp_path: Path) -> None:
    file = tmp_path / "credentials"
    file.write_text("[sandbox]\naws_access_key_id = AKIATESTTESTTESTTEST\naws_secret_access_key = made-up\n")
    bare.configure({"region": "us-west-2", "profile": "sandbox", "sharedCredentialsFiles": json.dumps([str(file)])})
    assert bare.invoke("aws:index/getCallerIdentity:getCallerIdentity")["accountId"] == ACCOUNT


def test_endpoints_win_over_the_environment(plugin_env: dict[str, str], moto_url: str) -> None:
    with plugin_process(PLUGIN, plugin_env | {"AWS_ENDPOINT_URL": "http://127.0.0.1:9"}) as plugin:
        plugin.configure({"endpoints": json.dumps([{"ec2": moto_url, "sts": moto_url, "iam": moto_url}])})
        assert plugin.invoke("aws:index/getCallerIdentity:getCallerIdentity")["accountId"] == ACCOUNT


def test_a_role_is_assumed(fresh: PluginProcess) -> None:
    role = {"roleArn": f"arn:aws:iam::{ACCOUNT}:role/deployer", "sessionName": "me"}
    fresh.configure({"assumeRoles": json.dumps([role])})
    arn = fresh.invoke("aws:index/getCallerIdentity:getCallerIdentity")["arn"]
    assert arn == f"arn:aws:sts::{ACCOUNT}:assumed-role/deployer/me"


def _unreachable(plugin_env: dict[str, str], port: int) -> tuple[str, float]:
    with plugin_process(PLUGIN, plugin_env | {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}"}) as plugin:
        started = time.monotonic()
        with pytest.raises(Failed) as failed:
            plugin.configure()
        return failed.value.message, time.monotonic() - started


def test_an_aws_that_refuses_the_connection_is_told_within_seconds(plugin_env: dict[str, str]) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        message, took_s = _unreachable(plugin_env, port)
    assert f"cannot reach AWS at http://127.0.0.1:{port}" in message
    assert "the connection was refused" in message
    assert "AWS_ENDPOINT_URL" in message
    assert "\n" not in message
    assert took_s < 6


def test_an_aws_that_does_not_answer_is_told_within_seconds(plugin_env: dict[str, str]) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        message, took_s = _unreachable(plugin_env, silent.getsockname()[1])
    assert "it did not answer in time" in message
    assert took_s < 8


def test_nothing_is_asked_of_aws_when_validation_is_skipped(plugin_env: dict[str, str]) -> None:
    with plugin_process(PLUGIN, plugin_env | {"AWS_ENDPOINT_URL": "http://127.0.0.1:9"}) as plugin:
        plugin.configure({"skipCredentialsValidation": "true", "skipRequestingAccountId": "true"})
        assert Life(plugin, VOLUME).checked({"availabilityZone": "us-west-2a", "size": 1})


def test_without_the_account_id_arns_have_none(plugin: PluginProcess, fresh: PluginProcess) -> None:
    fresh.configure({"skipCredentialsValidation": "true", "skipRequestingAccountId": "true"})
    volume = Life(fresh, VOLUME).create({"availabilityZone": "us-west-2a", "size": 1})
    assert volume.state["arn"] == f"arn:aws:ec2:us-west-2::volume/{volume.id}"


def test_unknown_types_and_functions_are_refused_with_the_way_out(plugin: PluginProcess) -> None:
    with pytest.raises(Failed, match=r"aws:sqs/queue:Queue.*Volume.*--plugins official"):
        plugin.check("aws:sqs/queue:Queue", {})
    with pytest.raises(Failed, match=r"aws:sqs/getQueue:getQueue.*getRole.*--plugins official"):
        plugin.invoke("aws:sqs/getQueue:getQueue", {})


def test_the_version_is_the_sdks(plugin: PluginProcess) -> None:
    import pulumi_aws
    from google.protobuf.empty_pb2 import Empty

    sdk: Any = pulumi_aws
    assert sdk._utilities.get_version() == plugin.stub.GetPluginInfo(Empty()).version


def test_secrets_of_the_configuration_stay_out_of_errors(plugin_env: dict[str, str]) -> None:
    env = plugin_env | {"AWS_ENDPOINT_URL": "http://127.0.0.1:9"}
    with plugin_process(PLUGIN, env) as plugin, pytest.raises(Failed, match="cannot reach AWS") as failed:
        plugin.configure({"accessKey": "AKIAHUSH", "secretKey": "hush-hush", "token": "psst"})
    for secret in ("AKIAHUSH", "hush-hush", "psst"):
        assert secret not in failed.value.message
