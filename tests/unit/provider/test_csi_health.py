"""A CSI plugin's health by zone."""

from typing import Any

from nomad_stateful.nomad.csi_health import Health, assess

ZONE = "topology.ebs.csi.aws.com/zone"


def node(zone: str = "", healthy: bool = True, key: str = ZONE) -> dict[str, Any]:
    topology = {"Segments": {key: zone, "os": "linux"}} if zone else None
    return {"Healthy": healthy, "AllocID": "a", "NodeInfo": {"AccessibleTopology": topology}}


def no_zone(_node: str) -> str:
    return ""


def test_only_healthy_instances_count() -> None:
    plugin = {
        "Controllers": {"n1": {"Healthy": True}, "n2": {"Healthy": False}},
        "Nodes": {"n1": node("a"), "n2": node("a"), "n3": node("b", healthy=False)},
    }
    health = assess(plugin, [ZONE], no_zone)
    assert (health.controllers, health.nodes, dict(health.zones)) == (1, 2, {"a": 2})
    assert health.missing(1, ["a"]) == []
    assert health.missing(2, ["a", "b"]) == ["1 of 2 controllers healthy", "no healthy node plugin in b"]


def test_a_node_without_topology_has_its_clients_zone_and_there_is_no_key_to_ask_in() -> None:
    health = assess({"Nodes": {"n1": node(), "n2": node("a")}}, [ZONE], {"n1": "b"}.__getitem__)
    assert dict(health.zones) == {"a": 1, "b": 1}
    assert health.topology_key == ""
    assert list(health.topology_keys) == ["os", ZONE]


def test_the_topology_key_is_the_first_that_every_healthy_node_reports() -> None:
    nodes = {"n1": node("a", key="old/zone"), "n2": node("a", key="old/zone")}
    assert assess({"Nodes": nodes}, [ZONE, "old/zone"], no_zone).topology_key == "old/zone"


def test_without_zones_one_node_plugin_is_enough_and_none_is_not() -> None:
    assert Health(nodes=1).missing(0, []) == []
    assert Health().missing(0, []) == ["no healthy node plugin"]


def test_a_plugin_nomad_does_not_know_has_no_health() -> None:
    assert assess(None, [ZONE], no_zone) == Health()
