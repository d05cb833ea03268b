"""What Nomad must know before MySQL can be placed."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from nomad_stateful.nomad.api import NomadError
from tools.bench.plugin_health import HealthWatch, has_controller, has_node_in_zone
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


def test_a_watch_sees_the_moment_when_both_are_there() -> None:
    both = {"ControllersHealthy": 1, "Nodes": {"1": node(MYSQL_ZONE, healthy=True)}}
    answers: list[Any] = [
        NomadError("no such plugin"),
        {"ControllersHealthy": 1},
        {**both, "ControllersHealthy": 0},
        both,
    ]

    def get(_path: str) -> Any:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    with HealthWatch(cast("Any", SimpleNamespace(get=get))) as watch:
        watch._thread.join(10)
    assert watch.seen_at > 0
    assert not answers
    assert not has_controller({})


def test_a_watch_that_saw_nothing_ends_with_its_block() -> None:
    with HealthWatch(cast("Any", SimpleNamespace(get=lambda _path: {}))) as watch:
        pass
    assert watch.seen_at == 0
