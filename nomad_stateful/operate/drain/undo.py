"""The way back: a drained client gets allocations again."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nomad_stateful.nomad import clients
from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.clients import Client
from nomad_stateful.operate.cluster import wait_for


def undo(api: NomadApi, node: Client, plugin_ids: Sequence[str], timeout_s: float, say: Callable[[str], None]) -> None:
    """Makes a client eligible, and ends a drain of it; waits until its node plugins are healthy again.

    `plugin_ids` are those that it is to have. Raises TimedOutError, NomadError.
    """
    if node.draining or not node.eligible:
        clients.undrain(api, node.id)
    say(f"{node.name} takes new allocations")

    def healthy() -> bool:
        return all(map(clients.get(api, node.id).has_healthy_plugin, plugin_ids))

    if plugin_ids:
        names = ", ".join(plugin_ids)
        remedy = f"See `nomad plugin status -verbose {plugin_ids[0]}`."
        wait_for(f"node plugin {names} is healthy on {node.name}", healthy, timeout_s, remedy)
        say(f"node plugin {names} is healthy on {node.name}")


def plugins_elsewhere(api: NomadApi, node: Client) -> list[str]:
    """Returns the ids of the CSI plugins that every other eligible client has. Raises NomadError."""
    others = [stub for stub in clients.listed(api) if stub.id != node.id and stub.takes_work]
    found = [set(one.node_plugins) for one in clients.read(api, others)]
    return sorted(set.intersection(*found) if found else node.node_plugins)
