"""A zone that is lost with its Nomad server, and a leader that is: where there are three servers, the others go on."""

from __future__ import annotations

import contextlib
import functools
import random
import time

from nomad_stateful.nomad import clients
from nomad_stateful.nomad.api import NomadError
from sandbox.cluster import server
from tools.faults.api_faults import later, repeated
from tools.faults.cases.instance import restore
from tools.faults.cases.nomad import change, up
from tools.faults.lane import HEALTH_TIMEOUT_S, Lane
from tools.faults.model import Fault
from tools.faults.victims import server_agent
from tools.trial.running import eventually

_SERVERS = 3
_LONGEST_S = 20.0
_LOST_CLIENT = "Nomad takes the clients of the zone for lost and has their volumes detached once others may need them"


def _leader(lane: Lane) -> str | None:
    """The zone of Nomad's leader; None while there is none."""
    with contextlib.suppress(NomadError):
        return server.leader(lane.settings).zone
    return None


def zone_of(lane: Lane, client: str) -> str:
    """The zone of a client."""
    return next(spec.zone for spec in lane.settings.instances if spec.name == client)


def lose(lane: Lane, zone: str) -> str:
    """Cuts a zone off and waits until Nomad goes on without it; what was lost."""
    led = _leader(lane)
    lane.stack.ctl("cut", zone)
    lane.injected()
    names = {spec.name for spec in lane.settings.instances if spec.zone == zone}

    def gone() -> bool | None:
        with contextlib.suppress(NomadError):
            # Disconnected is one whose allocations Nomad waits for, as a group's members.
            down = {one.name for one in clients.listed(lane.stack.nomad) if one.status in {"down", "disconnected"}}
            return (names <= down and _leader(lane) not in (None, zone)) or None
        return None

    what = f"Nomad has a leader, and calls what is in {zone} down"
    with lane.waits(what, HEALTH_TIMEOUT_S):
        eventually(gone, HEALTH_TIMEOUT_S, what, lane.stack.diagnosis)
    return f"{zone}{', with the leader,' if led == zone else ''}"


def heal(lane: Lane, zone: str) -> None:
    """Connects a zone again, and waits until the stack is as it was."""
    lane.stack.ctl("heal", zone)
    restore(lane)


def _with_database(lane: Lane, draw: random.Random) -> str:
    """The database's volume is in the zone: nobody can have it elsewhere, and it is there when the zone is."""
    zone = zone_of(lane, lane.stack.server_endpoint().node_name)
    lost = lose(lane, zone)
    seconds = draw.uniform(0, _LONGEST_S)
    time.sleep(seconds)
    heal(lane, zone)
    return f"{lost} lost until Nomad knew and {seconds:.0f} s longer"


def _without_database(lane: Lane, draw: random.Random) -> str:
    """Another zone is lost: the database notices nothing."""
    at = lane.stack.server_endpoint()
    zone = draw.choice([one for one in lane.settings.zones if one != zone_of(lane, at.node_name)])
    lost = lose(lane, zone)
    lane.await_writes()
    now = lane.stack.server_endpoint()
    assert now.allocation_id == at.allocation_id, f"{lane.server.title} started again, though {zone} was lost"
    heal(lane, zone)
    return f"{lost} lost; {lane.server.title} stayed on {now.node_name}"


def _leader_in_a_change(lane: Lane, draw: random.Random) -> str:
    """The leader is killed in the middle of an update, which asks the next one."""
    change(lane)
    victim = server_agent(lane, draw)
    before = draw.uniform(0, lane.typical_s["change"])

    def strike() -> None:
        victim.kill()
        lane.injected()

    with later(before, 0, strike, lambda: None):
        seen = repeated(functools.partial(up, lane, lane.stack.env["NOMAD_ADDR"]))
    victim.await_back()
    lane.await_plugins()
    return f"killed after {before:.0f} s; up {seen}"


FAULTS = (
    Fault(
        "zone of {title} lost and healed",
        "zone",
        _with_database,
        may_detach_mounted=_LOST_CLIENT,
        servers=_SERVERS,
        seconds=90,
    ),
    Fault("another zone than that of {title} lost and healed", "zone", _without_database, servers=_SERVERS, seconds=60),
    Fault("Nomad leader lost in a change", "zone", _leader_in_a_change, servers=_SERVERS, seconds=40),
)
