"""What becomes of volumes that another plugin takes or that a driver made: rows stay, or it is refused."""

import re
from collections.abc import Iterator

import pytest

from tests.sandbox.changing_volumes import (
    Config,
    changed,
    edit,
    named,
    previewed,
    pulumi,
    restore,
    stack_with_rows,
    volume_id,
    with_volume,
    without_volume,
)
from tools.trial.running import Running

pytestmark = [pytest.mark.sandbox, pytest.mark.engine, pytest.mark.nomad, pytest.mark.nightly]


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with stack_with_rows(tmp_path_factory.mktemp("project")) as running:
        yield running


def test_a_volume_that_moves_to_another_plugin_keeps_its_rows(stack: Running) -> None:
    ebs = volume_id(stack, "mysql")

    def second_plugin(config: Config) -> None:
        config["plugins"].append(config["plugins"][0] | {"id": "aws-ebs1", "controllers": 1})

    changed(stack, second_plugin)
    said = changed(stack, with_volume("mysql", plugin="aws-ebs1"))
    assert f"volumes.mysql.plugin is aws-ebs1: it moves from plugin aws-ebs0 and stays EBS volume {ebs}" in said
    assert stack.nomad.get("volume/csi/mysql")["PluginID"] == "aws-ebs1"
    assert volume_id(stack, "mysql") == ebs
    changed(stack, with_volume("mysql", plugin="aws-ebs0"))


def test_mysql_leaves_a_volume_that_is_registered_anew_in_the_same_update(stack: Running) -> None:
    def to_archive(config: Config) -> None:
        config["mysql"]["volume"] = "archive"

    def back(config: Config) -> None:
        config["mysql"]["volume"] = "mysql"
        with_volume("archive", mountFlags=["noatime", "nodiratime"])(config)

    before = edit(stack, to_archive)
    pulumi(stack, "up", "--yes", "--skip-preview")
    changed(stack, back)
    restore(stack, before)
    pulumi(stack, "up", "--yes", "--skip-preview")


def test_a_volume_that_its_driver_made_is_not_made_anew_under_way(stack: Running) -> None:
    dynamic = {"name": "dynamic", "provision": "plugin", "zone": "us-west-2a", "sizeGib": 1, "protect": False}
    changed(stack, lambda config: config["volumes"].append(dynamic))
    ebs = volume_id(stack, "dynamic")
    for change, key in (
        (named("other", instead_of="dynamic", renamedFrom="dynamic"), "volumes.other.name is other"),
        (with_volume("dynamic", plugin="aws-ebs1"), "volumes.dynamic.plugin is aws-ebs1"),
        (with_volume("dynamic", zone="us-west-2b"), "volumes.dynamic.zone is us-west-2b"),
    ):
        said = previewed(stack, change, succeeds=False)
        assert re.search(
            rf"{key}: EBS volume {ebs} \(.*, us-west-2a\) was made by its driver, which would delete", said
        )
    said = changed(stack, without_volume("dynamic"))
    assert f"volumes.dynamic is not set: its driver deletes EBS volume {ebs} (" in said
