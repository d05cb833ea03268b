"""The way back: a drained client gets allocations again."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nomad_stateful.nomad.api import NomadApi
from operate.cluster import wait_for
from operate.drain import node as nodes
from operate.drain.node import Node


def undo(api: NomadApi, node: Node, plugin_ids: Sequence[str], timeout_s: float, say: Callable[[str], None]) -> None:
    """Makes a client eligible, and ends a drain of it; waits until its node plugins are healthy again.

    `plugin_ids` are those that it is to have. Raises TimedOutError, NomadError.
    """
    if node.draining or not node.eligible:
        api.put(f"node/{node.id}/drain", {"NodeID": node.id, "DrainSpec": None, "MarkEligible": True})
        api.put(f"node/{node.id}/eligibility", {"NodeID": node.id, "Eligibility": "eligible"})
    say(f"{node.name} takes new allocations")

    def healthy() -> bool | None:
        known = nodes.read(api, node.id).plugins
        return True if all((known.get(one) or {}).get("Healthy") for one in plugin_ids) else None

    if plugin_ids:
        names = ", ".join(plugin_ids)
        remedy = f"See `nomad plugin status -verbose {plugin_ids[0]}`."
        wait_for(f"node plugin {names} is healthy on {node.name}", healthy, timeout_s, remedy)
        say(f"node plugin {names} is healthy on {node.name}")


def plugins_elsewhere(api: NomadApi, node: Node) -> list[str]:
    """Returns the ids of the CSI plugins that every other eligible client has. Raises NomadError."""
    others = [
        stub["ID"]
        for stub in api.get("nodes")
        if stub["ID"] != node.id and stub["Status"] == "ready" and stub["SchedulingEligibility"] == "eligible"
    ]
    found = [nodes.read(api, one).plugins.keys() for one in others]
    return sorted(set.intersection(*(set(one) for one in found))) if found else sorted(node.plugins)
