"""A replication group of which members are lost, one at a time or more: the others go on, and what was lost comes back.

What breaks a single server breaks a group's primary here, by the same functions.
"""

from __future__ import annotations

import functools
import random
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from typing import Final

from nomad_stateful.nomad.running_job import Endpoint
from sandbox.machine.network import INSIDE_LINK
from tools.faults.cases import disk, drain, instance, process, zone
from tools.faults.cases.engine import cut_off
from tools.faults.cases.nomad import change
from tools.faults.cases.process import kill_all, killed
from tools.faults.lane import CLIENTS, Lane, addresses
from tools.faults.members import routed, watched
from tools.faults.model import Fault, Run
from tools.faults.victims import Victim, database, in_instance, server_agent
from tools.trial.members import MEMBER_PORT
from tools.trial.running import ended_well

_MEMBERS: Final = 3
_UNPLANNED_S, _FULL_DISK_S, _PLANNED_S, _ALL_S = 10.0, 30.0, 2.0, 120.0
"""Targets of the writer's longest pause."""
_STALLED_S: Final = 50.0
_BEHIND_S: Final = 10.0
"""For how long the others execute nothing once the primary is killed: longer than until one is elected."""
_OF_A_SERVER: Final = {
    "kill -9 of {process}": ("kill -9 of the primary's {process}", _UNPLANNED_S),
    "kill -9 of dockerd": ("kill -9 of the primary's dockerd", _UNPLANNED_S),
    "kill -9 of the server agent": ("kill -9 of the leading server agent", _PLANNED_S),
    "drain with -ignore-system": ("drain of the primary's client with -ignore-system", _PLANNED_S),
    "drain with the node plugin": ("drain of the primary's client", _PLANNED_S),
    "full disk, then room is made": ("full disk of the primary", _FULL_DISK_S),
    "instance stopped by force": ("primary's instance stopped by force", _UNPLANNED_S),
    "instance cut off for a moment": ("primary's instance cut off for a moment", _UNPLANNED_S),
    "zone of {title} lost and healed": ("primary's zone lost and healed", _UNPLANNED_S),
}
_END_SESSIONS: Final = (
    "SELECT CONCAT('KILL ', id) FROM performance_schema.processlist "
    "WHERE user = 'root' AND host NOT LIKE 'localhost%' AND id <> CONNECTION_ID()"
)


def _in_order(run: Run) -> Run:
    """A fault with the writer on the router of a client that is not hit, and goes on; afterwards the group is whole."""

    @functools.wraps(run)
    def wrapped(lane: Lane, draw: random.Random) -> str:
        primary = lane.stack.server_endpoint()
        others = [client for client in CLIENTS if client != primary.node_name]
        draw.shuffle(others)
        # The second one is the secondary that is hit where one is.
        routed(lane).hosts = [addresses(lane.settings)[client] for client in (*others, primary.node_name)]
        _end_sessions(lane, primary)
        lane.await_writes()
        router = _router(lane, others[0])
        seen, told = watched(lane, lambda: run(lane, draw))
        if (now_router := _router(lane, others[0])) != router:
            lane.problems.append(f"the router of {others[0]} was started anew: it was {router}, and is {now_router}")
        now = lane.stack.server_endpoint()
        return f"{seen}; primary on {primary.node_name}, then on {now.node_name}; {told}"

    return wrapped


def _end_sessions(lane: Lane, at: Endpoint) -> None:
    """Has clients log in anew, through a router."""
    for (end,) in lane.stack.sql(at, _END_SESSIONS):
        lane.stack.sql(at, end)


def _router(lane: Lane, client: str) -> list[str]:
    """The allocations that are the router of a client."""
    found = lane.stack.nomad.get(f"job/{lane.server.job}-router/allocations")
    return [one["ID"] for one in found if one["NodeName"] == client and one["ClientStatus"] in ("running", "unknown")]


def _secondary(lane: Lane) -> str:
    """The client of the secondary that is hit."""
    names = {host: client for client, host in addresses(lane.settings).items()}
    return names[routed(lane).hosts[1]]


def _member(lane: Lane, client: str) -> Victim:
    return in_instance(lane, f"{lane.server.process}", lane.server.running, client)


def _member_of_secondary(lane: Lane, _draw: random.Random) -> Victim:
    return _member(lane, _secondary(lane))


def _all_killed(lane: Lane, _draw: random.Random) -> str:
    return kill_all(lane, [_member(lane, client) for client in CLIENTS])


def _primary(lane: Lane) -> str:
    return lane.stack.server_endpoint().node_name


def _frozen(lane: Lane, draw: random.Random, member: Callable[[Lane], str]) -> str:
    client, seconds = member(lane), draw.uniform(8, 20)
    pid = str(lane.pid_inside(client, lane.server.running))
    lane.inside(client, "kill", "-STOP", pid)
    lane.injected()
    time.sleep(seconds)
    lane.inside(client, "kill", "-CONT", pid)
    return f"mysqld on {client} stood still for {seconds:.0f} s"


def _stopped_by_docker(lane: Lane, _draw: random.Random) -> str:
    at = lane.stack.server_endpoint()
    container = f"{lane.server.name}-{at.allocation_id}"
    lane.injected()
    ended_well(lane.inside(at.node_name, "docker", "stop", container))
    return f"docker stopped the primary on {at.node_name}"


def _restarted(lane: Lane, _draw: random.Random) -> str:
    at = lane.stack.server_endpoint()
    job = lane.server.member_jobs[CLIENTS.index(at.node_name)]
    operator = {"NOMAD_TOKEN": lane.stack.env["NOMAD_OPERATOR_TOKEN"]}
    lane.injected()
    ended_well(lane.stack.run("nomad", "job", "restart", "-yes", job, more_env=operator))
    return f"{job} restarted"


def _terminated(lane: Lane, draw: random.Random) -> str:
    """Another instance takes its place, where its member comes back once an operator has recovered its volume."""
    number = CLIENTS.index(_primary(lane))
    fault = next(one for one in instance.FAULTS if one.name == "instance terminated for good")
    seen = fault.run(lane, draw)
    ended_well(lane.operate("recover", f"{lane.server.volume}[{number}]", "--yes"))
    return seen


def _zone_of_secondary(lane: Lane, draw: random.Random) -> str:
    lost, seconds = zone.zone_of(lane, _secondary(lane)), draw.uniform(0, 15)
    said = zone.lose(lane, lost)
    time.sleep(seconds)
    zone.heal(lane, lost)
    return f"{said} lost"


def _two_lost(lane: Lane, draw: random.Random) -> str:
    """The primary's zone, and with it or a little later a secondary: one member is left, which may not write alone."""
    lost, later_s = zone.zone_of(lane, _primary(lane)), draw.choice([0.0, 12.0])
    victim = _member(lane, _secondary(lane))
    lane.stack.ctl("cut", lost)
    lane.injected()
    time.sleep(later_s)
    victim.kill()
    before = lane.writer.total
    time.sleep(draw.uniform(8, 20))
    written = lane.writer.total - before
    zone.heal(lane, lost)
    return f"{lost} lost and {victim.what} killed {later_s:.0f} s later: {written} rows until it was healed"


def _alone_killed(lane: Lane, draw: random.Random) -> str:
    """A secondary whose zone is lost starts anew there, where it reaches nobody: it may not begin a group."""
    client, seconds = _secondary(lane), draw.uniform(20, 30)
    lost, victim = zone.zone_of(lane, client), _member(lane, client)
    lane.stack.ctl("cut", lost)
    lane.injected()
    victim.kill()
    time.sleep(seconds)
    zone.heal(lane, lost)
    _end_sessions(lane, lane.stack.server_endpoint())
    return f"{lost} lost for {seconds:.0f} s and {victim.what} killed"


def _behind(lane: Lane, draw: random.Random) -> str:
    """The primary is killed while the others have received, and not executed, its last rows."""
    primary = _primary(lane)
    with ExitStack() as locked:
        for client, host in addresses(lane.settings).items():
            if client != primary:
                locked.enter_context(_executes_nothing(lane, host))
        # Enough for each client to have something that was not executed.
        lane.writer.await_new(100, 60)
        victim = database(lane, draw)
        victim.kill()
        lane.injected()
        time.sleep(_BEHIND_S)
    return f"{victim.what} killed, while the others executed nothing until {_BEHIND_S:.0f} s later"


@contextmanager
def _executes_nothing(lane: Lane, host: str) -> Iterator[None]:
    with closing(routed(lane).login(MEMBER_PORT, host)) as connection, closing(connection.cursor()) as cursor:
        cursor.execute("SELECT table_name FROM information_schema.tables WHERE table_schema = 'faults'")
        cursor.execute(f"LOCK TABLES {', '.join(f'faults.{name} READ' for (name,) in cursor.fetchall())}")
        yield


def _stalled(lane: Lane, _draw: random.Random) -> str:
    """The primary's volume ends no write, and gives no error, as one in EBS that is impaired."""
    client = _primary(lane)
    point = disk.mount_point(lane, client)
    ended_well(lane.inside(client, "fsfreeze", "--freeze", point))
    lane.injected()
    try:
        time.sleep(_STALLED_S)
    finally:
        ended_well(lane.inside(client, "fsfreeze", "--unfreeze", point))
    return f"the disk of {client} stood still for {_STALLED_S:.0f} s"


def _changed(lane: Lane, _draw: random.Random) -> str:
    change(lane)
    lane.injected()
    ended_well(lane.pulumi("up", "--yes", "--skip-preview"))
    return "changed"


def _change_killed(lane: Lane, draw: random.Random) -> str:
    change(lane)
    seen = cut_off(lane, draw, lane.up_words, "change", [])
    ended_well(lane.up())
    return seen


def _cut_one_way(lane: Lane, draw: random.Random, what: str, chain: str, interface: str) -> str:
    """What the primary's client sends is dropped and what is sent to it arrives, or the other way round."""
    client, seconds = _primary(lane), draw.uniform(8, 20)
    rule = (chain, "--table", "mangle", interface, INSIDE_LINK, "--jump", "DROP")
    ended_well(lane.inside(client, "iptables", "--insert", *rule))
    lane.injected()
    time.sleep(seconds)
    ended_well(lane.inside(client, "iptables", "--delete", *rule))
    instance.restore(lane)
    return f"{client} {what} for {seconds:.0f} s"


def _of_a_server() -> Iterator[Fault]:
    for module in (process, drain, disk, instance, zone):
        for fault in module.FAULTS:
            if fault.name in _OF_A_SERVER:
                name, target_s = _OF_A_SERVER[fault.name]
                yield replace(fault, name=name, run=_in_order(fault.run), **_common(target_s))


def _common(target_s: float) -> dict[str, object]:
    return {"family": "group", "members": _MEMBERS, "servers": _MEMBERS, "target_s": target_s}


def _fault(name: str, run: Run, target_s: float, weight: int = 1, seconds: float = 45) -> Fault:
    return Fault(
        name, "group", _in_order(run), weight, members=_MEMBERS, servers=_MEMBERS, target_s=target_s, seconds=seconds
    )


_unheard = functools.partial(_cut_one_way, what="was not heard", chain="POSTROUTING", interface="--out-interface")
_deaf = functools.partial(_cut_one_way, what="heard nothing", chain="PREROUTING", interface="--in-interface")
FAULTS = (
    *_of_a_server(),
    _fault("kill -9 of a secondary's {process}", killed(_member_of_secondary), _UNPLANNED_S),
    _fault("kill -9 of all three at once", _all_killed, _ALL_S),
    _fault("kill -9 of the primary and a secondary at once", killed(database, _member_of_secondary), _ALL_S, weight=2),
    _fault("kill -9 of the primary and of Nomad's leader", killed(database, server_agent), _UNPLANNED_S),
    _fault("primary's instance terminated", _terminated, _UNPLANNED_S, seconds=90),
    _fault("primary paused", functools.partial(_frozen, member=_primary), _UNPLANNED_S, weight=2),
    _fault("a secondary paused", functools.partial(_frozen, member=_secondary), _UNPLANNED_S),
    _fault("primary stopped by docker", _stopped_by_docker, _PLANNED_S),
    _fault("nomad job restart of the primary", _restarted, _PLANNED_S, weight=2),
    _fault("a secondary's zone lost and healed", _zone_of_secondary, _UNPLANNED_S),
    _fault("a secondary's zone lost, and its member killed there", _alone_killed, _UNPLANNED_S),
    _fault("primary killed while the others are behind", _behind, 2 * _BEHIND_S),
    _fault("the primary's disk stalls", _stalled, _FULL_DISK_S, seconds=80),
    _fault("a setting changed", _changed, _PLANNED_S, weight=2, seconds=60),
    _fault("a setting changed, kill -9 of pulumi up", _change_killed, _PLANNED_S, seconds=90),
    _fault("primary's zone lost and a secondary killed", _two_lost, _ALL_S, weight=2),
    _fault("primary's client is not heard for a while", _unheard, _UNPLANNED_S, weight=2),
    _fault("primary's client hears nothing for a while", _deaf, _UNPLANNED_S),
)
