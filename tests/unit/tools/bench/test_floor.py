"""What Nomad must know before MySQL can be placed."""

from typing import Any

import pytest

from tools.bench.floor import has_controller, has_node_in_zone
from tools.bench.rig import MYSQL_ZONE


def node(zone: str, *, healthy: bool) -> dict[str, Any]:
    segments = {"topology.ebs.csi.aws.com/zone": zone}
    return {"Healthy": healthy, "NodeInfo": {"AccessibleTopology": {"Segments": segments}}}


@pytest.mark.parametrize(
    ("nodes", "enough"),
    [
        ({}, False),
        ({"1": node(MYSQL_ZONE, healthy=False)}, False),
        ({"1": node("elsewhere", healthy=True)}, False),
        ({"1": {"Healthy": True, "NodeInfo": None}}, False),
        ({"1": node("elsewhere", healthy=True), "2": node(MYSQL_ZONE, healthy=True)}, True),
    ],
)
def test_a_healthy_node_plugin_of_the_volumes_zone_is_enough(nodes: dict[str, Any], enough: bool) -> None:
    assert has_node_in_zone({"Nodes": nodes}) is enough


@pytest.mark.parametrize(
    ("plugin", "enough"), [({}, False), ({"ControllersHealthy": 0}, False), ({"ControllersHealthy": 1}, True)]
)
def test_a_healthy_controller_is_enough(plugin: dict[str, Any], enough: bool) -> None:
    assert has_controller(plugin) is enough
