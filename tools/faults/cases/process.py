"""kill -9 of what runs on a deployed stack, one process or two at once."""

from __future__ import annotations

import contextlib
import random
import subprocess
from collections.abc import Sequence

from tools.faults.cases.engine import MAX_CONNECTIONS, switch
from tools.faults.lane import CLIENTS, UP_TIMEOUT_S, Lane
from tools.faults.model import Fault, Run
from tools.faults.victims import (
    CONTROLLER,
    Choice,
    Victim,
    await_controllers,
    client_agent,
    controller,
    database,
    dockerd,
    node_plugin,
    server_agent,
)

# An update of the database's job takes less.
_FROZEN_S = 30.0
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


def killed(*choices: Choice) -> Run:
    """A fault that kills so many processes at once."""
    return lambda lane, draw: kill_all(lane, [choice(lane, draw) for choice in choices])


def _two(lane: Lane, draw: random.Random) -> str:
    return kill_all(lane, [choice(lane, draw) for choice in draw.sample(_EVERY, 2)])


def _frozen_controller(lane: Lane, draw: random.Random) -> str:
    """Changes a setting of the database while Nomad knows a controller that does not answer, which then does again."""
    clients = [client for client in CLIENTS if lane.pid_inside(client, CONTROLLER)]
    client = draw.choice(clients)
    pid = str(lane.pid_inside(client, CONTROLLER))
    lane.inside(client, "kill", "-STOP", pid)
    try:
        await_controllers(lane, len(clients) - 1)
        switch(lane, MAX_CONNECTIONS)
        lane.injected()
        process = lane.start(lane.stack.python, "-m", "sandbox", *lane.up_words)
        with lane.waits("the change is under way", _FROZEN_S), contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_FROZEN_S)
    finally:
        lane.inside(client, "kill", "-CONT", pid)
    with lane.waits("python -m sandbox up ends", UP_TIMEOUT_S):
        assert process.wait(UP_TIMEOUT_S) == 0, "up failed: see the commands' logs"
    await_controllers(lane, len(clients))
    return f"the controller on {client} did not answer"


FAULTS = (
    Fault("kill -9 of {process}", "process", killed(database), weight=3, seconds=10),
    Fault("kill -9 of dockerd", "process", killed(dockerd), weight=2, seconds=20),
    Fault("kill -9 of a node plugin", "process", killed(node_plugin), weight=2, seconds=10),
    Fault("kill -9 of a controller", "process", killed(controller), weight=2, seconds=10),
    Fault("kill -9 of a client agent", "process", killed(client_agent), weight=3, seconds=20),
    Fault("kill -9 of the server agent", "process", killed(server_agent), weight=2, seconds=20),
    Fault("kill -9 of two at once", "process", _two, weight=4, seconds=20),
    Fault(
        "a {title} setting changed while a controller does not answer",
        "process",
        _frozen_controller,
        alone=True,
        seconds=90,
    ),
)
