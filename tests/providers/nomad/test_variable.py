"""nomad:index/variable:Variable, and what is told of a plugin."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fake_nomad import FakeNomad
from tests.providers.harness import Failed, PluginProcess
from tests.providers.nomad.agent import Agent

pytestmark = pytest.mark.nomad

VARIABLE = "nomad:index/variable:Variable"


def test_a_variable_is_written_read_changed_and_removed(plugin: PluginProcess, agent: Agent, name: str) -> None:
    path = f"nomad/jobs/{name}"
    inputs = plugin.check(VARIABLE, {"path": path, "items": {"password": "swordfish"}}).inputs
    assert (inputs["namespace"], inputs["__defaults"], inputs.secrets) == ("default", ["namespace"], {"items"})
    variable = plugin.create(VARIABLE, inputs.props)
    assert (variable.id, variable.outputs.secrets) == (f"{path}@default", {"items"})
    assert agent.api.get(f"var/{path}")["Items"] == {"password": "swordfish"}
    changed = inputs.props | {"items": {"password": "trout"}}
    assert plugin.diff(VARIABLE, variable.id, variable.outputs.props, inputs.props, changed).detailed == {
        "items.password": "UPDATE"
    }
    updated = plugin.update(VARIABLE, variable.id, variable.outputs.props, inputs.props, changed)
    assert agent.api.get(f"var/{path}")["Items"] == {"password": "trout"}
    plugin.delete(VARIABLE, variable.id, updated.outputs.props)
    assert plugin.read(VARIABLE, variable.id, changed, updated.outputs.props) is None
    plugin.delete(VARIABLE, variable.id, updated.outputs.props)


def test_items_changed_behind_our_back_show_in_a_refresh(plugin: PluginProcess, agent: Agent, name: str) -> None:
    inputs = plugin.check(VARIABLE, {"path": name, "items": {"a": "1"}}).inputs.props
    variable = plugin.create(VARIABLE, inputs)
    agent.api.put(f"var/{name}", {"Path": name, "Items": {"a": "2"}})
    found = plugin.found(VARIABLE, variable.id, inputs, variable.outputs.props)
    assert (found["items"], found.inputs["items"], found.outputs.secrets) == ({"a": "2"}, {"a": "2"}, {"items"})
    with pytest.raises(Failed, match="missing variable path"):
        plugin.read(VARIABLE, f"{name}@default")
    plugin.delete(VARIABLE, variable.id, variable.outputs.props)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"path": "a b", "items": {"k": "v"}}, "path a b contains invalid characters"),
        ({"path": "nomad", "items": {"k": "v"}}, "path of 'nomad' is a reserved top-level directory path"),
        ({"path": "nomad/x", "items": {"k": "v"}}, "only paths at 'nomad/jobs'"),
        ({"path": "x" * 129, "items": {"k": "v"}}, "is longer than 128 characters"),
        ({"path": "a"}, "items is required"),
        ({"path": "a", "items": {"k": "v"}, "itemsWo": "{}"}, "itemsWo is not an input of"),
        ({"path": "a", "items": {}}, "items is empty"),
        ({"path": "a", "items": {"k": 5}}, "items.k must be a string"),
        ({"items": {"k": "v"}}, "path is required"),
    ],
)
def test_a_bad_variable_is_refused_without_its_values(offline: PluginProcess, given: Any, reason: str) -> None:
    assert reason in offline.check(VARIABLE, given).reasons


@pytest.mark.parametrize("token", ["nomad:index/aclPolicy:AclPolicy", "nomad:index/namespace:Namespace"])
def test_types_that_it_lacks_are_refused_by_name(offline: PluginProcess, token: str) -> None:
    with pytest.raises(Failed, match=rf"unrecognized resource type \(Check\): {token}.*implements"):
        offline.check(token, {})


@pytest.mark.parametrize("name", ["getJob", "getNodes", "getVolumes"])
def test_functions_that_it_lacks_are_refused_by_name(offline: PluginProcess, name: str) -> None:
    token = f"nomad:index/{name}:{name}"
    with pytest.raises(Failed, match=rf"unrecognized data function \(Invoke\): {token}.*official plugin"):
        offline.invoke(token)


@pytest.mark.parametrize("flag", ["waitForRegistration", "waitForHealthy"])
def test_a_plugin_is_waited_for_where_asked(faked: PluginProcess, server: FakeNomad, flag: str) -> None:
    ill = {"ID": "ebs", "ControllersExpected": 1, "ControllersHealthy": 0}
    well = ill | {"ControllersHealthy": 1, "Controllers": {"n1": {}}}
    answers = iter([None, ill, well, well])
    server.put("plugin/csi/ebs", lambda: next(answers))
    found = faked.invoke("nomad:index/getPlugin:getPlugin", {"pluginId": "ebs", flag: True})
    assert found["controllersHealthy"] == (1 if flag == "waitForHealthy" else 0)


def test_a_plugin_that_is_not_there_is_an_error(plugin: PluginProcess) -> None:
    with pytest.raises(Failed, match='plugin "nope" not found'):
        plugin.invoke("nomad:index/getPlugin:getPlugin", {"pluginId": "nope"})
    with pytest.raises(Failed, match="pluginId is required"):
        plugin.invoke("nomad:index/getPlugin:getPlugin", {})
