"""Which upgrades of a driver are refused before anything is changed."""

from __future__ import annotations

from typing import Any

import pytest

from nomad_stateful.operate.engine import Change
from nomad_stateful.operate.upgrade.wanted import UpgradeRefusedError, Wanted, refuse_others, wanted

EBS = {"id": "aws-ebs0", "driver": "ebs", "version": "v1.48.0"}
EFS = {"id": "aws-efs0", "driver": "efs"}


def asked(plugins: list[dict[str, Any]], version: str = "v1.50.0", **more: Any) -> Wanted:
    given: dict[str, Any] = {"plugin_id": "", "down": False} | more
    return wanted(plugins, given["plugin_id"], version, down=given["down"])


def test_the_only_ebs_plugin_is_meant_and_its_settings_are_named_by_path() -> None:
    found = asked([EFS, EBS])
    assert (found.plugin_id, found.before, found.node_job) == ("aws-ebs0", "v1.48.0", "plugin-aws-ebs0-node")
    assert found.settings == {"nomad-stateful:plugins[1].version": "v1.50.0"}
    assert found.earlier == {"nomad-stateful:plugins[1].version": "v1.48.0"}


def test_a_downgrade_is_done_where_it_is_meant() -> None:
    assert asked([EBS], "v1.47.0", down=True).version == "v1.47.0"


@pytest.mark.parametrize(
    ("plugins", "version", "more", "why"),
    [
        ([EBS], "v1.47.0", {}, "--downgrade"),
        ([EBS], "v2.0.0", {}, "major version"),
        ([EBS], "1.50.0", {}, "write v1.50.0"),
        ([EBS], "latest", {}, "must be a released version"),
        ([{**EBS, "image": "registry:5000/ebs:v1.48.0"}], "v1.50.0", {}, "pins the version"),
        ([EBS], "v1.50.0", {"plugin_id": "other"}, "no such plugin. Use one of aws-ebs0"),
        ([EBS, {**EBS, "id": "aws-ebs1"}], "v1.50.0", {}, "--plugin is not set"),
        ([EFS], "v1.50.0", {"plugin_id": "aws-efs0"}, "nomad-stateful drain"),
        ([], "v1.50.0", {}, "Use one of none"),
    ],
)
def test_what_cannot_be_done_is_refused(
    plugins: list[dict[str, Any]], version: str, more: dict[str, Any], why: str
) -> None:
    with pytest.raises(UpgradeRefusedError) as refused:
        asked(plugins, version, **more)
    assert why in str(refused.value)
    assert refused.value.exit_status == 4


def test_an_image_with_a_registrys_port_pins_nothing() -> None:
    assert asked([{**EBS, "image": "registry:5000/ebs"}]).version == "v1.50.0"


def change(name: str, op: str = "update", kind: str = "nomad:index/job:Job") -> Change:
    return Change(op, kind, name, {})


def test_an_update_that_changes_more_is_refused() -> None:
    found = asked([EBS])
    refuse_others(found, [change("plugin-aws-ebs0-node"), change("aws-ebs0", kind="aws:iam/policy:Policy")])
    with pytest.raises(UpgradeRefusedError, match="mysql"):
        refuse_others(found, [change("plugin-aws-ebs0-node"), change("mysql")])
    with pytest.raises(UpgradeRefusedError, match="mysql"):
        refuse_others(found, [change("mysql", op="create", kind="aws:ebs/volume:Volume")])
