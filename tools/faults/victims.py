"""Processes that a fault may kill, and how each comes back."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Callable
from dataclasses import dataclass

from nomad_stateful.nomad import clients
from sandbox.cluster import server
from sandbox.machine import processes
from tools.faults.lane import CLIENTS, HEALTH_TIMEOUT_S, PLUGIN, Lane
from tools.trial.instances import AGENT, plugin_reports, reported_since
from tools.trial.running import ended_well, eventually

# Of the stand-in, `sandbox.standins.ebs_csi_driver`, and of the driver itself, `aws-ebs-csi-driver`.
NODE_PLUGIN = "ebs.csi.driver node"
CONTROLLER = "ebs.csi.driver controller"
DOCKERD = "dockerd --config-file"


@dataclass(frozen=True)
class Victim:
    """A process that runs: what it is, its kill, and a wait until something has taken its place."""

    what: str
    kill: Callable[[], None]
    await_back: Callable[[], None]


Choice = Callable[[Lane, random.Random], Victim]


def database(lane: Lane, _draw: random.Random) -> Victim:
    """The database server; Nomad restarts its task."""
    return in_instance(lane, "the database server", lane.server.running, lane.stack.server_endpoint().node_name)


def node_plugin(lane: Lane, draw: random.Random) -> Victim:
    """A client's node plugin; Nomad restarts its task."""
    return in_instance(lane, "the node plugin", NODE_PLUGIN, draw.choice(CLIENTS))


def controller(lane: Lane, draw: random.Random) -> Victim:
    """One of the controllers; Nomad restarts its task."""
    clients = [client for client in CLIENTS if lane.pid_inside(client, CONTROLLER)]
    return in_instance(lane, "the controller", CONTROLLER, draw.choice(clients))


def await_controllers(lane: Lane, number: int) -> None:
    """Waits until Nomad knows so many healthy controllers."""
    plugin = f"plugin/csi/{PLUGIN}"
    _await(lane, f"{number} healthy controllers", lambda: lane.stack.nomad.get(plugin)["ControllersHealthy"] == number)


def dockerd(lane: Lane, draw: random.Random) -> Victim:
    """The docker daemon below the database; the instance starts it again, and it ends the containers that it finds."""
    client = lane.stack.server_endpoint().node_name
    daemon, server = in_instance(lane, "dockerd", DOCKERD, client), database(lane, draw)

    def await_back() -> None:
        daemon.await_back()
        server.await_back()

    return Victim(daemon.what, daemon.kill, await_back)


def client_agent(lane: Lane, draw: random.Random) -> Victim:
    """A client's Nomad agent; the instance starts it again, and its plugins have to be found healthy anew."""
    client = draw.choice(CLIENTS)
    killed = in_instance(lane, "the client agent", AGENT, client)
    node_id = _node_id(lane, client)
    before = plugin_reports(lane.stack, node_id, PLUGIN)

    def await_back() -> None:
        killed.await_back()
        # The server knows what the old agent said until the new one says it.
        _await(
            lane,
            f"{client} reports its plugins anew",
            lambda: reported_since(plugin_reports(lane.stack, node_id, PLUGIN), before),
        )

    return Victim(killed.what, killed.kill, await_back)


def server_agent(lane: Lane, _draw: random.Random) -> Victim:
    """Nomad's server, of several the leader; `python -m sandbox up` starts it again."""
    settings = lane.settings
    record = processes.read_record(server.pid_file(settings, server.leader(settings)))
    assert record is not None, "there is no Nomad server to kill"

    def kill() -> None:
        assert processes.is_running(record), "the Nomad server died before it was killed"
        os.kill(record.pid, signal.SIGKILL)

    def await_back() -> None:
        ended_well(lane.up())

    return Victim("the server agent", kill, await_back)


def in_instance(lane: Lane, what: str, pattern: str, client: str) -> Victim:
    """A process of an instance, by its command line; whatever it is of starts it again there."""
    pid = lane.pid_inside(client, pattern)
    assert pid, f"{what} does not run on {client}"

    def back() -> bool:
        return lane.pid_inside(client, pattern) not in (0, pid)

    return Victim(
        f"{what} on {client}",
        lambda: lane.kill_inside(client, pid),
        lambda: _await(lane, f"{what} runs again on {client}", back),
    )


def _await(lane: Lane, what: str, probe: Callable[[], bool]) -> None:
    with lane.waits(what, HEALTH_TIMEOUT_S):
        eventually(lambda: probe() or None, HEALTH_TIMEOUT_S, what, lane.stack.diagnosis)


def _node_id(lane: Lane, client: str) -> str:
    return next(one.id for one in clients.listed(lane.stack.nomad) if one.name == client)
