"""VolumeGuard and VolumeGrowth over gRPC."""

from typing import Any

import pytest

from nomad_stateful.plugin_server.values import UNKNOWN
from tests.fake_nomad import FakeNomad
from tests.providers.harness import PluginProcess

GUARD = "nomad-csi:index:VolumeGuard"
GROWTH = "nomad-csi:index:VolumeGrowth"
VOLUME: dict[str, Any] = {"volumeName": "mysql", "zone": "us-west-2a", "sizeGib": 1}
SIZE: dict[str, Any] = {"volumeId": "mysql", "sizeGib": 1}


def test_a_guard_keeps_its_id_from_the_first_check_on(plugin: PluginProcess) -> None:
    checked = plugin.check(GUARD, VOLUME).inputs.props
    planned = plugin.create(GUARD, checked, preview=True)
    assert (planned.id, planned["guardId"]) == ("", checked["guardId"])
    made = plugin.create(GUARD, checked)
    assert made.id == made["guardId"] == checked["guardId"]
    assert plugin.check(GUARD, VOLUME, checked).inputs.props == checked


def test_nothing_a_guard_sees_replaces_it(plugin: PluginProcess) -> None:
    old = plugin.check(GUARD, VOLUME).inputs.props
    diff = plugin.diff(GUARD, old["guardId"], old, old, old | {"sizeGib": 2, "protect": False})
    assert sorted(diff.detailed) == ["protect", "sizeGib"]
    assert diff.replaces == []


def test_a_refusal_does_not_need_ec2(plugin: PluginProcess) -> None:
    old = plugin.check(GUARD, VOLUME).inputs.props
    assert "EBS volumes cannot move" in plugin.check(GUARD, VOLUME | {"zone": "us-west-2b"}, old).reasons


def test_a_size_plans_an_update_that_may_restart_the_consumer(nomad: FakeNomad, plugin: PluginProcess) -> None:
    inputs = plugin.check(GROWTH, SIZE).inputs.props
    made = plugin.create(GROWTH, inputs)
    assert (made.id, made["restartId"]) == ("default/mysql", "")
    news = inputs | {"sizeGib": 2}
    state = made.outputs.props
    diff = plugin.diff(GROWTH, made.id, state, inputs, news)
    assert (list(diff.detailed), diff.replaces) == (["sizeGib"], [])
    assert plugin.update(GROWTH, made.id, state, inputs, news, preview=True)["restartId"] == UNKNOWN
    assert plugin.update(GROWTH, made.id, state, inputs, news)["restartId"] == ""
    assert nomad.requested("PUT") == []


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"mode": "never"}, "mode is 'never': it must be one of online-or-restart, online, restart"),
        ({"sizeGib": 0}, "sizeGib is 0"),
        ({"volumeId": "a b"}, "volumeId is 'a b'"),
    ],
)
def test_bad_inputs_are_refused_with_key_and_value(plugin: PluginProcess, change: dict[str, Any], reason: str) -> None:
    assert reason in plugin.check(GROWTH, SIZE | change).reasons
