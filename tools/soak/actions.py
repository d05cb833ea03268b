"""What happens to a stack in its life: what schedules are drawn of, instance refreshes, and versions of the driver."""

from __future__ import annotations

import random
from typing import Final

from nomad_stateful.drivers.catalogue import DRIVERS
from tools.faults.cases.instance import restore
from tools.faults.driver_versions import install
from tools.faults.lane import CLIENTS, HEALTH_TIMEOUT_S, Lane
from tools.faults.model import Fault
from tools.faults.schedules.actions import every_action
from tools.trial.instances import instance_of
from tools.trial.running import ended_well, eventually

_NOTICE_S: Final = 20
_NEWER: Final = "v1.50.0"
_CHANGES: Final = "changes"


def life() -> dict[str, Fault]:
    """Every action that leaves the stack running and its volumes and jobs as they are, by name."""
    running = [one for one in every_action().values() if (one.needs, one.leaves) == ("deployed", "deployed")]
    kept = [one for one in running if one.family != _CHANGES]
    return {one.name: one for one in (*kept, *_OWN)}


def _refreshed(lane: Lane, draw: random.Random) -> str:
    """An instance is announced to leave, leaves, and another one takes its place."""
    client = draw.choice(CLIENTS)
    before = instance_of(lane.stack, client)
    lane.stack.ctl("notice", client, "lifecycle", "--in", str(_NOTICE_S))
    lane.injected()

    def gone() -> bool | None:
        [found] = lane.stack.ec2.describe_instances(InstanceIds=[before])["Reservations"][0]["Instances"]
        return found["State"]["Name"] == "terminated" or None

    what = f"{client} is terminated"
    with lane.waits(what, HEALTH_TIMEOUT_S):
        eventually(gone, HEALTH_TIMEOUT_S, what)
    restore(lane)
    made = instance_of(lane.stack, client)
    assert made != before, "the terminated instance runs again"
    return f"{made} took the place of {before}"


def _upgraded(lane: Lane, _draw: random.Random) -> str:
    """The driver's newer version, and back: an instance that is made later has the first one alone."""
    install(lane, _NEWER, CLIENTS)
    for version, *more in ((_NEWER,), (DRIVERS["ebs"].default_version, "--downgrade")):
        ended_well(lane.operate("upgrade-driver", version, *more, "--node-timeout", "120s", "--yes"))
    return f"{_NEWER}, and back"


_OWN: Final = (
    Fault("instance refresh", "instance", _refreshed, weight=4, seconds=70),
    # Of a family that is never drawn beside another.
    Fault("driver upgrade, and back", _CHANGES, _upgraded, seconds=220),
)
