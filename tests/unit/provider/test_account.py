"""The account of the provider's configuration, and what resources remember of it."""

import json
from typing import Any

import pytest

from nomad_stateful.ebs.ec2_client import AwsPlace
from nomad_stateful.ebs.volumes import Volume
from nomad_stateful.plugin_server.plugin import Props
from nomad_stateful.plugin_server.values import UNKNOWN
from nomad_stateful.provider.functions.found import GetVolumes
from nomad_stateful.provider.plugin import NomadCsiPlugin
from nomad_stateful.provider.resources.job_health import JobHealth
from nomad_stateful.provider.resources.volume_guard import VolumeGuard
from nomad_stateful.provider.resources.volume_protection import VolumeProtection
from nomad_stateful.provider.resources.volume_release import VolumeRelease
from nomad_stateful.waiting import Context

HERE = {"awsRegion": "us-west-2", "awsAccountId": "123456789012", "awsConfig": '{"profile": "prod"}'}
EARLIER = {"region": "us-west-2", "accountId": "123456789012", "awsConfig": '{"accessKey": "old"}'}
INPUTS: dict[type, Props] = {
    VolumeGuard: {"volumeName": "mysql", "zone": "us-west-2a", "sizeGib": 1},
    VolumeProtection: {"volumeName": "mysql", "volumeId": "vol-0123456789abcdef0"},
    VolumeRelease: {"volumeId": "mysql", "externalId": "vol-0123456789abcdef0"},
    JobHealth: {"jobId": "db", "group": "g"},
}
every_kind = pytest.mark.parametrize("kind", list(INPUTS), ids=lambda kind: kind.__name__)


def resource(kind: type, **config: str) -> Any:
    """A resource type of a plugin with this configuration."""
    plugin = NomadCsiPlugin()
    plugin.configure(config)
    [found] = [one for one in plugin.resources if isinstance(one, kind)]
    return found


@every_kind
def test_a_resource_remembers_the_providers_account_and_never_its_credentials(kind: type) -> None:
    inputs = resource(kind, **HERE).check(Context(), {}, INPUTS[kind]).inputs
    remembered = ("us-west-2", "123456789012") if kind is not JobHealth else ("", "")
    assert (inputs["region"], inputs["accountId"]) == remembered
    assert inputs["awsConfig"] is None


@every_kind
def test_what_an_earlier_release_was_given_is_no_difference(kind: type) -> None:
    one = resource(kind, **HERE)
    before = resource(kind).check(Context(), {}, INPUTS[kind] | EARLIER).inputs
    news = one.check(Context(), before, INPUTS[kind]).inputs
    assert news.get("guardId") == before.get("guardId")
    assert one.diff(Context(), "id", before, before, news).detailed == {}


@every_kind
def test_credentials_that_are_still_an_input_are_a_secret_and_a_change(kind: type) -> None:
    one = resource(kind)
    assert "awsConfig" in one.secret_outputs
    before = one.check(Context(), {}, INPUTS[kind] | EARLIER).inputs
    news = one.check(Context(), before, INPUTS[kind] | EARLIER | {"awsConfig": "{}"}).inputs
    diff = one.diff(Context(), "id", before, before, news)
    assert list(diff.detailed) == ["awsConfig"]
    assert not [kind for kind in diff.detailed.values() if kind.replaces]


def test_the_providers_credentials_ask_about_the_account_that_is_remembered() -> None:
    configured = VolumeGuard()
    configured.account = lambda: AwsPlace("eu-west-1", "222222222222", "new")
    assert configured.place(EARLIER) == AwsPlace("us-west-2", "123456789012", "new")
    assert configured.place({}) == AwsPlace("", "", "new"), "nothing says that it was made in the provider's account"
    assert VolumeGuard().place(EARLIER) == AwsPlace("us-west-2", "123456789012", EARLIER["awsConfig"])


@pytest.mark.parametrize("config", [HERE, {}], ids=["remembered", "not remembered"])
def test_a_protected_volume_stays_where_it_was_whoever_asks(config: dict[str, str]) -> None:
    before = resource(VolumeProtection, **config).check(Context(), {}, INPUTS[VolumeProtection]).inputs
    other = resource(VolumeProtection, awsRegion="eu-west-1", awsAccountId="222222222222")
    news = other.check(Context(), before, INPUTS[VolumeProtection]).inputs
    assert (news["region"], news["accountId"]) == (before["region"], before["accountId"])
    assert other.diff(Context(), "id", before, before, news).detailed == {}


@pytest.mark.parametrize(("key", "value"), [("awsAccountId", "222222222222"), ("awsRegion", "eu-west-1")])
def test_a_provider_that_left_for_another_account_is_refused(key: str, value: str) -> None:
    for kind in (VolumeGuard, VolumeRelease):
        made = resource(kind, **HERE).check(Context(), {}, INPUTS[kind]).inputs
        [refused] = resource(kind, **HERE | {key: value}).check(Context(), made, INPUTS[kind]).failures
        assert f"is {value}" in refused.reason


def test_a_job_waits_in_the_providers_account() -> None:
    one = resource(JobHealth, **HERE)
    assert one.given({"region": "", "accountId": "", "awsConfig": None}).account_id == "123456789012"
    assert resource(JobHealth).given(EARLIER).account_id == "123456789012"


def test_volumes_are_looked_for_in_the_providers_account_unless_another_is_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("nomad_stateful.provider.functions.found.refuse_another_account", lambda *_: None)
    asked: list[AwsPlace] = []

    class Volumes:
        def __init__(self, place: AwsPlace) -> None:
            asked.append(place)

        def tagged(self, _tags: Props) -> list[Volume]:
            return []

    function = GetVolumes(Volumes)  # type: ignore[arg-type]
    function.account = lambda: AwsPlace("us-west-2", "123456789012", "here")
    function.invoke(Context(), {"stack": "p/s"})
    function.invoke(Context(), {"stack": "p/s", "accountId": "222222222222"})
    assert asked == [AwsPlace("us-west-2", "123456789012", "here"), AwsPlace("us-west-2", "222222222222", "here")]


@pytest.mark.parametrize("key", ["awsConfig", "awsAccountId", "awsRegion", "secretId", "address"])
def test_no_change_of_the_configuration_replaces_anything(key: str) -> None:
    plugin = NomadCsiPlugin()
    for news in (HERE | {key: "other"}, HERE | {key: UNKNOWN}, {k: v for k, v in HERE.items() if k != key}):
        for olds in (HERE, {}):
            diff = plugin.diff_config(olds, news)
            assert not diff.replaces
            assert not [kind for kind in diff.detailed.values() if kind.replaces]
    assert list(plugin.diff_config(HERE, HERE | {key: "other"}).detailed) == [key]


def test_a_wrong_account_is_refused_and_a_configuration_is_not_shown() -> None:
    def said(**config: Any) -> list[str]:
        return [one.reason for one in NomadCsiPlugin().check_config(Context(), {}, config).failures]

    assert said(**HERE) == said(awsConfig=UNKNOWN, awsAccountId=UNKNOWN) == []
    [reason] = said(awsAccountId="12")
    assert "twelve digits" in reason
    for config in ("whispered", json.dumps(["whispered"]), {"profile": "whispered"}):
        [reason] = said(awsConfig=config)
        assert "awsConfig is not a JSON object" in reason
        assert "whispered" not in reason
    assert "awsConfig" in NomadCsiPlugin().secret_config
