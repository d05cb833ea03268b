"""Nomad throttles, fails, loses its leader, is slow or gone: the same command brings the stack there."""

from __future__ import annotations

import functools
import os
import random
import signal
from collections.abc import Callable
from subprocess import CompletedProcess

from sandbox.cluster import server
from sandbox.machine import processes
from tools.faults.api_faults import later, repeated
from tools.faults.cases.engine import MAX_CONNECTIONS, switch
from tools.faults.lane import Lane
from tools.faults.model import Fault
from tools.faults.nomad_proxy import BadAnswer, nomad_proxy

_BUSIEST_REQUESTS_PER_S = 25.0
_Command = Callable[[Lane, str], "CompletedProcess[str]"]
"""What is done to a lane's stack with Nomad at an address."""


def change(lane: Lane) -> None:
    """Changes a setting, so that the next `up` registers the database's job again."""
    switch(lane, MAX_CONNECTIONS)


def _pulumi(lane: Lane, address: str, *words: str) -> CompletedProcess[str]:
    return lane.pulumi(*words, "--yes", "--skip-preview", NOMAD_ADDR=address)


def up(lane: Lane, address: str) -> CompletedProcess[str]:
    """`pulumi up` with Nomad at an address."""
    return _pulumi(lane, address, "up", "--refresh")


def _destroy(lane: Lane, address: str) -> CompletedProcess[str]:
    return _pulumi(lane, address, "destroy")


def _answers_badly(lane: Lane, bad: BadAnswer) -> str:
    """An `up` of a change with bad answers in between."""
    change(lane)
    return _through_bad_answers(lane, bad, "up", up)


def _away(lane: Lane, draw: random.Random, does: str, command: _Command) -> str:
    """Nomad's address does not answer for some seconds in the middle."""
    seconds, before = draw.uniform(4, 15), draw.uniform(0, lane.typical_s[does])
    with nomad_proxy(lane.stack.env["NOMAD_ADDR"]) as proxy, later(before, seconds, proxy.deafen, proxy.listen):
        lane.injected()
        seen = repeated(functools.partial(command, lane, proxy.address))
    return f"unreachable for {seconds:.0f} s; {does} {seen}"


def _away_in_a_change(lane: Lane, draw: random.Random) -> str:
    change(lane)
    return _away(lane, draw, "change", up)


def _away_in_a_destroy(lane: Lane, draw: random.Random) -> str:
    lane.writer.end()
    return _away(lane, draw, "destroy", _destroy)


def _from_empty(lane: Lane, draw: random.Random) -> str:
    """Everything is destroyed and made again, while Nomad's address does not answer for some seconds of each."""
    gone = _away_in_a_destroy(lane, draw)
    lane.writer.begin()
    return f"{gone}; {_away(lane, draw, 'up', up)}"


def _refuses_for_a_while(lane: Lane, draw: random.Random) -> str:
    """Every request is refused for some seconds in the middle: nobody hammers the server meanwhile."""
    change(lane)
    seconds, before = draw.uniform(6, 12), draw.uniform(0, lane.typical_s["change"])
    throttled = BadAnswer("status", 429, "Too Many Requests")
    with nomad_proxy(lane.stack.env["NOMAD_ADDR"]) as proxy:
        with later(before, seconds, functools.partial(proxy.answer_badly, throttled), proxy.answer_well):
            lane.injected()
            seen = repeated(functools.partial(up, lane, proxy.address))
        refused = proxy.struck["status"]
    rate = refused / seconds
    assert rate <= _BUSIEST_REQUESTS_PER_S, f"{refused} requests in {seconds:.0f} s while all were refused"
    return f"all refused for {seconds:.0f} s: {rate:.1f} requests/s; up {seen}"


def _badly_destroyed(lane: Lane, bad: BadAnswer) -> str:
    """A `destroy` with bad answers in between."""
    lane.writer.end()
    return _through_bad_answers(lane, bad, "destroy", _destroy)


def _through_bad_answers(lane: Lane, bad: BadAnswer, does: str, command: _Command) -> str:
    with nomad_proxy(lane.stack.env["NOMAD_ADDR"]) as proxy:
        proxy.answer_badly(bad)
        lane.injected()
        seen = repeated(functools.partial(command, lane, proxy.address))
        struck = sum(proxy.struck.values())
    assert struck, "no request was answered badly"
    return f"{struck} requests answered badly; {does} {seen}"


def _frozen(lane: Lane, draw: random.Random) -> str:
    """The server stands still for some seconds in the middle, and with it the cluster's leader."""
    change(lane)
    settings = lane.settings
    record = processes.read_record(server.pid_file(settings, server.leader(settings)))
    assert record is not None, "no server runs"
    seconds, before = draw.uniform(2, 6), draw.uniform(0, lane.typical_s["change"])
    stop = functools.partial(os.kill, record.pid, signal.SIGSTOP)
    go_on = functools.partial(os.kill, record.pid, signal.SIGCONT)
    with later(before, seconds, stop, go_on):
        lane.injected()
        seen = repeated(functools.partial(up, lane, lane.stack.env["NOMAD_ADDR"]))
    lane.await_plugins()
    return f"the server stood still for {seconds:.0f} s; up {seen}"


_THROTTLES = BadAnswer("status", 429, "Too Many Requests", count=20)
_NO_LEADER = BadAnswer("status", 500, "No cluster leader", count=20)
_FAILED_WRITES = BadAnswer("status", 500, "internal error", method="PUT", count=2)
_FAILED_READS = BadAnswer("status", 500, "internal error", path="/v1/job/*", count=2)
_BROKEN_WRITES = BadAnswer("reset", method="PUT", count=3)
_BROKEN_DELETES = BadAnswer("reset", method="DELETE", count=4)


def _in_a_change(name: str, bad: BadAnswer, weight: int = 1) -> Fault:
    return Fault(name, "nomad", lambda lane, _: _answers_badly(lane, bad), weight, seconds=30)


def _in_a_destroy(name: str, bad: BadAnswer) -> Fault:
    return Fault(name, "nomad", lambda lane, _: _badly_destroyed(lane, bad), leaves="empty", seconds=40)


FAULTS = (
    Fault("Nomad refuses every request for seconds", "nomad", _refuses_for_a_while, seconds=30),
    _in_a_change("Nomad refuses some requests", _THROTTLES),
    _in_a_change("Nomad has no leader", _NO_LEADER),
    _in_a_change("Nomad answers writes with a 500", _FAILED_WRITES),
    _in_a_change("Nomad answers reads with a 500", _FAILED_READS),
    _in_a_change("Nomad does what it is asked, the connection breaks", _BROKEN_WRITES, weight=2),
    _in_a_change("Nomad's connections break", BadAnswer("reset", count=12)),
    _in_a_change("Nomad is slow", BadAnswer("slow", seconds=1)),
    _in_a_destroy("Nomad has no leader in a destroy", _NO_LEADER),
    _in_a_destroy("Nomad does what a destroy asks, the connection breaks", _BROKEN_DELETES),
    Fault("Nomad is unreachable in the middle of a change", "nomad", _away_in_a_change, weight=2, seconds=30),
    Fault("Nomad is unreachable in a destroy and in an up", "nomad", _from_empty, weight=2, seconds=80),
    Fault("the server agent stands still in a change", "nomad", _frozen, weight=2, seconds=40),
)
