"""Credentials of another account than the one a volume is in, against moto's accounts."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws

from nomad_stateful.ebs.ec2_client import AwsPlace, caller
from nomad_stateful.ebs.volumes import EbsVolumes
from nomad_stateful.errors import ProviderError
from nomad_stateful.provider.resources.volume_guard import VolumeGuard
from nomad_stateful.provider.resources.volume_protection import VolumeProtection
from nomad_stateful.provider.resources.volume_release import VolumeRelease
from nomad_stateful.waiting import Context
from tests.fake_nomad import FakeNomad

REGION, OURS, OTHER = "us-west-2", "123456789012", "222222222222"
ROLE = f"arn:aws:iam::{OTHER}:role/other"
HERE = AwsPlace(REGION, OURS)
GONE = "vol-00000000000000000"
SAID = f"is in account {OURS}: the AWS credentials are of account {OTHER} .*Use the credentials of the aws provider"


@pytest.fixture(autouse=True)
def volume_id(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A volume in our account, and the other account's credentials in the environment."""
    for key in ("AWS_ENDPOINT_URL", "AWS_PROFILE", "AWS_CA_BUNDLE", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(key, raising=False)
    ours(monkeypatch)
    with mock_aws():
        made = boto3.client("ec2", region_name=REGION).create_volume(AvailabilityZone=f"{REGION}a", Size=1)
        keys = boto3.client("sts", region_name=REGION).assume_role(RoleArn=ROLE, RoleSessionName="other")["Credentials"]
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", keys["AccessKeyId"])
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", keys["SecretAccessKey"])
        monkeypatch.setenv("AWS_SESSION_TOKEN", keys["SessionToken"])
        yield str(made["VolumeId"])


def ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "none")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "none")
    monkeypatch.delenv("AWS_SESSION_TOKEN", raising=False)


def protection(volume_id: str, **more: Any) -> dict[str, Any]:
    named = {"volumeName": "mysql", "volumeId": volume_id, "finalSnapshot": True, "timeoutS": 1}
    return named | {"region": REGION, "accountId": OURS} | more


def test_a_final_snapshot_is_not_skipped_because_another_account_has_no_such_volume(volume_id: str) -> None:
    with pytest.raises(ProviderError, match=SAID):
        VolumeProtection().delete(Context(), volume_id, protection(volume_id))


def test_a_volume_of_another_account_does_not_count_as_released(volume_id: str, nomad: FakeNomad) -> None:
    state = {"volumeId": "mysql", "backend": "ebs", "externalId": volume_id, "timeoutS": 1, "releaseId": "r"}
    with pytest.raises(ProviderError, match=SAID):
        VolumeRelease(lambda: nomad.api).delete(Context(), "r", state | {"region": REGION, "accountId": OURS})


def test_an_instance_of_another_account_does_not_count_as_gone() -> None:
    with pytest.raises(ProviderError, match=SAID):
        EbsVolumes(HERE).instance_states(["i-0123456789abcdef0"])


def test_a_guard_that_another_account_cannot_find_takes_its_volume_to_exist() -> None:
    with pytest.raises(ProviderError, match=SAID):
        EbsVolumes(HERE).guarded_by("guard")
    news = {"volumeName": "mysql", "zone": "us-west-2a", "sizeGib": 2, "region": REGION, "accountId": OURS}
    made = VolumeGuard().check(Context(), {}, news).inputs
    refused = VolumeGuard().check(Context(), made, news | {"zone": "us-west-2b"}).failures
    assert "EBS volumes cannot move" in refused[0].reason


@pytest.mark.parametrize("change", [{"accountId": OTHER}, {"region": "eu-west-1"}])
def test_an_aws_provider_that_left_for_another_account_or_region_is_refused(change: dict[str, str]) -> None:
    [(key, value)] = change.items()
    what = {"accountId": "account", "region": "region"}[key]
    news = {"volumeName": "mysql", "zone": "us-west-2a", "sizeGib": 2, "region": REGION, "accountId": OURS}
    made = VolumeGuard().check(Context(), {}, news).inputs
    [refused] = VolumeGuard().check(Context(), made, news | change).failures
    assert refused.reason.startswith(f"the aws provider's {what} is {value}: volume mysql is in {what} {news[key]}")
    release = {"volumeId": "mysql", "externalId": "vol-0123456789abcdef0", "region": REGION, "accountId": OURS}
    gate = VolumeRelease(lambda: pytest.fail("Nomad is not asked"))
    [refused] = gate.check(Context(), release, release | change).failures
    assert f"the aws provider's {what} is {value}: vol-0123456789abcdef0 is in {what} {news[key]}" in refused.reason
    assert gate.check(Context(), release, release | change | {"externalId": "vol-11111111"}).failures == []


@pytest.mark.parametrize("recorded", [{"accountId": ""}, {"region": ""}])
def test_where_nobody_recorded_the_account_not_found_is_an_error(
    recorded: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ours(monkeypatch)
    monkeypatch.setenv("AWS_REGION", REGION)
    with pytest.raises(ProviderError, match="does not say in which account and region it is"):
        VolumeProtection().delete(Context(), GONE, protection(GONE, **recorded))


def test_what_the_right_account_does_not_find_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    ours(monkeypatch)
    assert EbsVolumes(HERE).state(GONE).is_free
    assert EbsVolumes(HERE).instance_states(["i-0"]) == {"i-0": "not-found"}
    assert EbsVolumes(HERE).guarded_by("guard") is None
    assert EbsVolumes(HERE).find(GONE) is None


def test_the_aws_providers_profile_wins_over_the_environment(
    volume_id: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "credentials"
    file.write_text("[prod]\naws_access_key_id = none\naws_secret_access_key = none\n", encoding="utf-8")
    config = json.dumps({"profile": "prod", "sharedCredentialsFiles": [str(file)]})
    assert EbsVolumes(AwsPlace(REGION, OURS, config)).state(volume_id).state == "available"


def test_the_aws_providers_keys_and_roles_are_used(volume_id: str) -> None:
    keys = {"accessKey": "none", "secretKey": "none"}
    assert EbsVolumes(AwsPlace(REGION, OURS, json.dumps(keys))).state(volume_id).state == "available"
    roles = [{"roleArn": f"arn:aws:iam::333333333333:role/{name}", "duration": "30m"} for name in ("a", "b")]
    account, arn = caller(AwsPlace(REGION, "", json.dumps(keys | {"assumeRoles": roles})))
    assert (account, ":assumed-role/b/" in arn) == ("333333333333", True)


def test_the_aws_providers_web_identity_is_used(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("a.web.token", encoding="utf-8")
    role = {"roleArn": "arn:aws:iam::444444444444:role/oidc", "webIdentityTokenFile": str(tmp_path / "token")}
    assert caller(AwsPlace(REGION, "", json.dumps({"assumeRoleWithWebIdentity": role})))[0] == "444444444444"


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"assumeRoles": {"roleArn": ROLE}}, "aws:assumeRoles is not a list"),
        ({"assumeRoles": [{"externalId": "x"}]}, "aws:assumeRoles has no roleArn"),
        ({"assumeRoles": [{"roleArn": ROLE, "duration": "soon"}]}, "has duration soon: a duration has a unit"),
    ],
)
def test_a_configuration_that_cannot_be_used_is_told(config: dict[str, Any], said: str) -> None:
    with pytest.raises(ProviderError, match=said):
        caller(AwsPlace(REGION, OURS, json.dumps(config)))
