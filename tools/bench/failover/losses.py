"""The ways in which MySQL's instance is lost, and how each comes back."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from tools.faults.cases.instance import restore
from tools.faults.lane import Lane
from tools.trial.instances import AGENT, inside, instance_of


@dataclass(frozen=True)
class Loss:
    """One way; `strike` gives the moment (monotonic) of the loss."""

    name: str
    strike: Callable[[Lane, str], float]
    heal: Callable[[Lane, str], None] = lambda _lane, _client: None
    may_detach_mounted: bool = False
    """Whether Nomad has the volume of a client detached that has it mounted still, which EC2 answers with `busy`."""
    ends_by_itself: bool = True
    """Whether the instance lets go of the volume without anybody stopping it."""


def _terminate(lane: Lane, client: str) -> float:
    instance_id, at = instance_of(lane.stack, client), time.monotonic()
    lane.stack.ec2.terminate_instances(InstanceIds=[instance_id])
    return at


def _stop(lane: Lane, client: str) -> float:
    instance_id, at = instance_of(lane.stack, client), time.monotonic()
    lane.stack.ec2.stop_instances(InstanceIds=[instance_id], Force=True)
    return at


def _cut(lane: Lane, client: str) -> float:
    lane.stack.ctl("cut", client)
    return time.monotonic()


def _suspend_agent(lane: Lane, client: str) -> float:
    """An agent that is killed is started again by its instance; one that hangs is not."""
    inside(lane.stack, client, "kill", "-STOP", str(lane.pid_inside(client, AGENT)))
    return time.monotonic()


def _replace(lane: Lane, client: str) -> None:
    _terminate(lane, client)


def _heal(lane: Lane, client: str) -> None:
    """One that was fenced is off, and has no network to bring back."""
    found = lane.stack.ec2.describe_instances(InstanceIds=[instance_of(lane.stack, client)])["Reservations"]
    if found[0]["Instances"][0]["State"]["Name"] == "running":
        lane.stack.ctl("heal", client)
    else:
        _replace(lane, client)


def repair(loss: Loss, lane: Lane, client: str) -> None:
    """Brings the client back, and the stack to where it was. An instance that is off is made anew.

    Started again, its client would restore the allocation that it lost, which waits for the volume and gets in the way
    of the next failover.
    """
    loss.heal(lane, client)
    restore(lane)


ALL = (
    Loss("terminated", _terminate),
    Loss("stopped", _stop, _replace),
    Loss("cut off", _cut, _heal, may_detach_mounted=True),
    Loss("agent dead", _suspend_agent, _replace, may_detach_mounted=True, ends_by_itself=False),
)
