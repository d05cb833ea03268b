"""`nomad node drain` of the database's client, with its node plugin and without, then the client back in service."""

from __future__ import annotations

import random

from tools.faults.lane import Lane
from tools.faults.model import Fault, Run
from tools.trial.running import ended_well

_DEADLINE_S = 120
_TIMEOUT_S = 300.0


def _drain(*options: str) -> Run:
    def run(lane: Lane, _draw: random.Random) -> str:
        at, title = lane.stack.server_endpoint(), lane.server.title
        lane.injected()
        node_command(lane, "drain", "-enable", "-yes", "-deadline", f"{_DEADLINE_S}s", *options, at.node_id)
        with lane.waits(f"{title} runs on the zone's other client", _TIMEOUT_S):
            moved = lane.stack.server_endpoint(not_allocation=at.allocation_id, timeout_s=_TIMEOUT_S)
        assert moved.node_name != at.node_name, f"{title} runs on {at.node_name}, which is drained"
        lane.await_writes()
        node_command(lane, "drain", "-disable", "-yes", at.node_id)
        node_command(lane, "eligibility", "-enable", at.node_id)
        lane.await_plugins()
        return f"{title} moved from {at.node_name} to {moved.node_name}"

    return run


def node_command(lane: Lane, *words: str) -> None:
    """`nomad node …` as an operator runs it."""
    operator = {"NOMAD_TOKEN": lane.stack.env["NOMAD_OPERATOR_TOKEN"]}
    with lane.waits(f"nomad node {' '.join(words)} ends", _TIMEOUT_S):
        ended_well(lane.stack.run("nomad", "node", *words, timeout_s=_TIMEOUT_S, more_env=operator))


FAULTS = (
    Fault("drain with -ignore-system", "drain", _drain("-ignore-system"), weight=2, seconds=20),
    Fault("drain with the node plugin", "drain", _drain(), weight=2, seconds=30),
)
