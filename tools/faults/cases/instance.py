"""Instances that die, are cut off, or come back: one writer at most, and the database goes on elsewhere in the zone."""

from __future__ import annotations

import random
import time
from subprocess import CompletedProcess

from nomad_stateful.nomad import clients
from nomad_stateful.nomad.running_job import Endpoint
from tools.faults.lane import HEALTH_TIMEOUT_S, PLUGIN, Lane
from tools.faults.model import Fault
from tools.faults.victims import NODE_PLUGIN
from tools.trial.instances import AGENT, instance_of
from tools.trial.running import ended_well, eventually

MOVE_TIMEOUT_S = 300.0
# Shorter than the servers' grace of 4 s, with what TCP adds: it sends again 0.2, 0.6, 1.4 and 3.0 s after a first try.
_SHORT_CUT_S = (0.5, 2.5)
_LOST_CLIENT = (
    "Nomad takes a client that is cut off for lost and has its volume detached for the next allocation; EC2 answers "
    "`busy` until that client has unmounted it, or is stopped"
)


def recover(lane: Lane, *words: str) -> CompletedProcess[str]:
    """`nomad-stateful recover VOLUME`, as an operator runs it."""
    return lane.operate("recover", lane.server.volume, *words, timeout_s=2 * MOVE_TIMEOUT_S)


def moved(lane: Lane, before: Endpoint) -> Endpoint:
    """The database on another client, taking writes."""
    with lane.waits(f"{lane.server.title} runs on another client", MOVE_TIMEOUT_S):
        now = lane.stack.server_endpoint(not_allocation=before.allocation_id, timeout_s=MOVE_TIMEOUT_S)
    assert now.node_name != before.node_name, (
        f"{lane.server.title} started again on {now.node_name}, which was taken away"
    )
    lane.await_writes()
    return now


def restore(lane: Lane) -> None:
    """The command a user repeats: what is off starts, what is gone is made anew."""
    ended_well(lane.up())
    lane.await_plugins()
    lane.await_writes()


def _await_down(lane: Lane, node_id: str) -> None:
    what = "Nomad calls the client down"
    with lane.waits(what, HEALTH_TIMEOUT_S):
        eventually(lambda: clients.get(lane.stack.nomad, node_id).status == "down" or None, HEALTH_TIMEOUT_S, what)


def _terminate(lane: Lane, instance_id: str) -> None:
    lane.stack.ec2.terminate_instances(InstanceIds=[instance_id])
    lane.injected()


def _terminated(lane: Lane, _draw: random.Random) -> str:
    at = lane.stack.server_endpoint()
    instance_id = instance_of(lane.stack, at.node_name)
    _terminate(lane, instance_id)
    now = moved(lane, at)
    restore(lane)
    made = instance_of(lane.stack, at.node_name)
    assert made != instance_id, "the terminated instance runs again"
    return f"{lane.server.title} moved from {at.node_name} to {now.node_name}; {made} took the place of {instance_id}"


def _terminated_and_node_plugin(lane: Lane, _draw: random.Random) -> str:
    """The client that has to take over loses its node plugin at the same moment."""
    at = lane.stack.server_endpoint()
    other = "client-2" if at.node_name == "client-1" else "client-1"
    plugin = lane.pid_inside(other, NODE_PLUGIN)
    assert plugin, f"no node plugin runs on {other}"
    _terminate(lane, instance_of(lane.stack, at.node_name))
    lane.kill_inside(other, plugin)
    now = moved(lane, at)
    restore(lane)
    return f"{lane.server.title} moved to {now.node_name}, whose node plugin had died too"


def _stopped(lane: Lane, _draw: random.Random) -> str:
    at = lane.stack.server_endpoint()
    lane.stack.ec2.stop_instances(InstanceIds=[instance_of(lane.stack, at.node_name)], Force=True)
    lane.injected()
    now = moved(lane, at)
    restore(lane)
    return f"{lane.server.title} moved from {at.node_name} to {now.node_name}"


def _killed_after_agent_restart(lane: Lane, _draw: random.Random) -> str:
    """Until the node plugin is found anew, Nomad does not know which instance its client is."""
    at = lane.stack.server_endpoint()
    instance_id = instance_of(lane.stack, at.node_name)
    agent = lane.pid_inside(at.node_name, AGENT)
    assert agent, f"no agent runs on {at.node_name}"
    lane.kill_inside(at.node_name, agent)
    eventually(
        lambda: PLUGIN not in clients.get(lane.stack.nomad, at.node_id).node_plugins or None,
        HEALTH_TIMEOUT_S,
        "the new agent registers without its node plugin",
    )
    lane.stack.ec2.stop_instances(InstanceIds=[instance_id], Force=True)
    lane.injected()
    _await_down(lane, at.node_id)
    done = ended_well(recover(lane, "--yes"))
    now = moved(lane, at)
    restore(lane)
    purged = "/purge" in done.stdout
    how = "forgotten by Nomad as recover does it" if purged else "released by itself"
    return f"{how}; {lane.server.title} on {now.node_name}"


def _cut_off_and_fenced(lane: Lane, _draw: random.Random) -> str:
    at = lane.stack.server_endpoint()
    instance_id = instance_of(lane.stack, at.node_name)
    lane.stack.ctl("cut", at.node_name)
    lane.injected()
    _await_down(lane, at.node_id)
    told = recover(lane)
    writing = lane.pid_inside(at.node_name, lane.server.running) != 0
    if writing:
        assert told.returncode == 1, told.stdout
        assert f"aws ec2 stop-instances --instance-ids {instance_id}" in told.stdout, told.stdout
    ended_well(recover(lane, "--fence", "--yes"))
    now = moved(lane, at)
    restore(lane)
    how = "stopped while it wrote" if writing else "it stopped the database first"
    return f"{how}; {lane.server.title} on {now.node_name}"


def _cut_off_for_long(lane: Lane, _draw: random.Random) -> str:
    """Nobody does anything: the client stops the database by itself, and only then EC2 detaches the volume."""
    at = lane.stack.server_endpoint()
    lane.stack.ctl("cut", at.node_name)
    lane.injected()
    now = moved(lane, at)
    assert not lane.pid_inside(at.node_name, lane.server.running), (
        f"{lane.server.title} still runs on {at.node_name}, which is cut off"
    )
    lane.stack.ctl("heal", at.node_name)
    restore(lane)
    return f"{at.node_name} stopped {lane.server.title} by itself; {lane.server.title} on {now.node_name}"


def _cut_off_for_a_moment(lane: Lane, draw: random.Random) -> str:
    at = lane.stack.server_endpoint()
    seconds = draw.uniform(*_SHORT_CUT_S)
    lane.stack.ctl("cut", at.node_name)
    time.sleep(seconds)
    lane.stack.ctl("heal", at.node_name)
    lane.injected()
    lane.await_writes()
    restore(lane)
    now = lane.stack.server_endpoint()
    stayed = now.allocation_id == at.allocation_id
    return (
        f"cut off for {seconds:.1f} s; {lane.server.title} {'stayed' if stayed else 'started again'} on {now.node_name}"
    )


FAULTS = (
    Fault("instance terminated for good", "instance", _terminated, seconds=90),
    Fault(
        "instance terminated and the node plugin elsewhere killed", "instance", _terminated_and_node_plugin, seconds=95
    ),
    Fault("instance stopped by force", "instance", _stopped, seconds=80),
    Fault("instance killed right after its agent restarted", "instance", _killed_after_agent_restart, seconds=100),
    Fault(
        "instance cut off while {title} writes, then fenced",
        "instance",
        _cut_off_and_fenced,
        may_detach_mounted=_LOST_CLIENT,
        seconds=90,
    ),
    Fault(
        "instance cut off until it stops {title} itself",
        "instance",
        _cut_off_for_long,
        may_detach_mounted=_LOST_CLIENT,
        seconds=80,
    ),
    Fault("instance cut off for a moment", "instance", _cut_off_for_a_moment, seconds=20),
)
