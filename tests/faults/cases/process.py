"""kill -9 of what runs on a deployed stack, one process or two at once."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from tests.faults.lane import Lane
from tests.faults.model import Fault
from tests.faults.victims import Choice, Victim, client_agent, controller, database, dockerd, node_plugin, server_agent

_EVERY: tuple[Choice, ...] = (database, node_plugin, controller, client_agent, server_agent)


def kill_all(lane: Lane, victims: Sequence[Victim]) -> str:
    """Kills processes at once and waits until all are back; what was killed."""
    for victim in victims:
        victim.kill()
    lane.injected()
    # The server has to be back first: nothing else is seen without it.
    for victim in sorted(victims, key=lambda one: one.what != "the server agent"):
        victim.await_back()
    lane.await_plugins()
    return f"killed {' and '.join(victim.what for victim in victims)}"


def _one(choice: Choice) -> Callable[[Lane, random.Random], str]:
    return lambda lane, draw: kill_all(lane, [choice(lane, draw)])


def _two(lane: Lane, draw: random.Random) -> str:
    return kill_all(lane, [choice(lane, draw) for choice in draw.sample(_EVERY, 2)])


def _without_docker(docker: bool) -> str:
    return "" if docker else "it needs docker"


FAULTS = (
    Fault("kill -9 of mariadbd or mysqld", "process", _one(database), weight=3, seconds=10),
    Fault("kill -9 of dockerd", "process", _one(dockerd), weight=2, cannot=_without_docker, seconds=20),
    Fault("kill -9 of a node plugin", "process", _one(node_plugin), weight=2, seconds=10),
    Fault("kill -9 of a controller", "process", _one(controller), weight=2, seconds=10),
    Fault("kill -9 of a client agent", "process", _one(client_agent), weight=3, seconds=20),
    Fault("kill -9 of the server agent", "process", _one(server_agent), weight=2, seconds=20),
    Fault("kill -9 of two at once", "process", _two, weight=4, seconds=20),
)
