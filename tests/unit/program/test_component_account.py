"""The account of components: the provider's that the program gives, else that of their own arguments."""

from collections.abc import Callable
from typing import Any

import pulumi
import pytest
from pulumi.runtime import config, mocks

from nomad_stateful.components.account import account_of, in_account
from nomad_stateful.components.zonal_volumes import ZonalVolumes
from nomad_stateful.sdk import PluginHealth, Provider
from tests.unit.program.recorder import Recorder, Resources

VOLUMES: Any = {"volumes": [{"name": "data", "zone": "us-west-2a", "size_gib": 1}], "driver_tags": {}}
ACCOUNT = {"region": "us-west-2", "account_id": "123456789012", "aws_config": '{"profile": "prod"}'}


def recorded(body: Callable[[], object]) -> Resources:
    """What a program registers, by logical name."""
    recorder = Recorder()
    mocks.set_mocks(recorder)

    @pulumi.runtime.test  # type: ignore[untyped-decorator]
    def run() -> None:
        body()

    run()
    return recorder.resources


def provider_of(resource: mocks.MockResourceArgs) -> str:
    return str(resource.provider).rsplit("::", 2)[1] if resource.provider else ""


def test_the_arguments_of_a_component_go_into_a_provider_where_there_is_none() -> None:
    made = recorded(lambda: ZonalVolumes("ebs", VOLUMES | ACCOUNT))
    given = {"awsRegion": "us-west-2", "awsAccountId": "123456789012", "awsConfig": '{"profile": "prod"}'}
    assert made["ebs-ZonalVolumes-nomad-csi"].inputs == given
    for name in ("ebs-data-guard", "volumes.data.protect"):
        assert provider_of(made[name]) == "ebs-ZonalVolumes-nomad-csi"
    assert not {"region", "awsConfig"} & made["ebs-data-guard"].inputs.keys()


def test_without_an_account_there_is_nothing_to_give() -> None:
    made = recorded(lambda: ZonalVolumes("ebs", VOLUMES))
    assert [one.typ for one in made.values() if one.typ.startswith("pulumi:providers")] == []
    assert provider_of(made["ebs-data-guard"]) == ""


@pytest.mark.parametrize("way", ["provider", "providers", "parent"])
def test_the_provider_that_the_program_gives_counts(way: str) -> None:
    def body() -> None:
        given = Provider("own", aws_region="eu-central-1")
        options: Any = {"provider": given, "providers": {"nomad-csi": given}}
        if way == "parent":
            parent = pulumi.ComponentResource("a:b:C", "c", None, pulumi.ResourceOptions(providers=[given]))
            options["parent"] = parent
        ZonalVolumes("ebs", VOLUMES | ACCOUNT, pulumi.ResourceOptions(**{way: options[way]}))

    made = recorded(body)
    assert "ebs-ZonalVolumes-nomad-csi" not in made
    assert provider_of(made["ebs-data-guard"]) == "own"


def test_components_of_one_name_have_a_provider_each() -> None:
    def body() -> None:
        ZonalVolumes("data", VOLUMES | ACCOUNT)
        in_account("CsiVolumes", "data", ACCOUNT, None)

    made = recorded(body)
    assert {"data-ZonalVolumes-nomad-csi", "data-CsiVolumes-nomad-csi"} <= made.keys()


def test_volumes_that_are_not_ebs_have_no_account() -> None:
    assert account_of([{"backend": "none", **ACCOUNT}]) == {}
    assert account_of([{"backend": "none"}, {"backend": "ebs", **ACCOUNT}])["region"] == "us-west-2"
    assert in_account("Container", "any", {}, None) is None


def test_a_provider_takes_from_the_stack_what_the_program_does_not_give() -> None:
    config.set_all_config({"nomad-csi:address": "http://nomad:4646", "nomad-csi:secretId": "t0ken"}, [])
    try:
        made = recorded(lambda: PluginHealth("h", plugin_id="ebs", opts=of(Provider("own", skip_verify=True))))
    finally:
        config.set_all_config({}, [])
    assert made["own"].inputs["address"] == "http://nomad:4646"
    assert made["own"].inputs["skipVerify"] == "true"
    assert "t0ken" in str(made["own"].inputs["secretId"])


def of(provider: Provider) -> pulumi.ResourceOptions:
    return pulumi.ResourceOptions(provider=provider)
