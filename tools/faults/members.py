"""What must hold of a replication group: during a fault what its readers see, and after it what each member has."""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from nomad_stateful.nomad.running_job import Endpoint
from tools.faults.background import Background
from tools.faults.lane import Lane, addresses
from tools.faults.routed import Routed
from tools.trial.members import MEMBER_PORT, READ_PORT, is_primary, said
from tools.trial.running import eventually

BACK_WITHIN_S: Final = 420.0
"""Nomad gives back every 5 minutes what an allocation claims that has ended."""
STALE_S: Final = 15.0
"""How old an acknowledged row may be that a read through the routers' port for reads lacks: maxLagS and a half more."""
_PERIOD_S: Final = 0.2
_READ: Final = "SELECT number FROM faults.acknowledged WHERE number > %s"
_ROWS: Final = 300


def routed(lane: Lane) -> Routed:
    """Where the writer of a group writes."""
    assert isinstance(lane.database, Routed), "the lane's database is no group"
    return lane.database


class Watch:
    """Asks the members several times a second who is primary, and reads through the routers' port for reads."""

    def __init__(self, lane: Lane) -> None:
        self._lane = lane
        self._hosts = addresses(lane.settings)
        self._threads = (Background("primaries", self._primaries), Background("replicas", self._replicas))
        self._acknowledged: deque[tuple[float, int]] = deque()
        """The last row that was acknowledged at each moment."""
        self.reads = 0
        self.problems: list[str] = []
        self.doubled_s = 0.0
        """For how long at most two members said at once that they may write."""

    def __enter__(self) -> Watch:
        for thread in self._threads:
            thread.begin()
        return self

    def __exit__(self, *_: object) -> None:
        for thread in self._threads:
            thread.ending.set()
        for thread in self._threads:
            thread.end()

    @property
    def told(self) -> str:
        """What it saw."""
        doubled = f"two members said /primary for {self.doubled_s:.1f} s, " if self.doubled_s else ""
        return f"{doubled}{self.reads} reads of members"

    def _primaries(self) -> None:
        ending, since = self._threads[0].ending, 0.0
        with ThreadPoolExecutor(len(self._hosts)) as pool:
            while not ending.wait(_PERIOD_S):
                primaries = [
                    host
                    for host, is_one in zip(self._hosts, pool.map(is_primary, self._hosts.values()), strict=True)
                    if is_one
                ]
                since = (since or time.monotonic()) if len(primaries) > 1 else 0.0
                if since:
                    self.doubled_s = max(self.doubled_s, time.monotonic() - since + _PERIOD_S)

    def _replicas(self) -> None:
        ending = self._threads[1].ending
        while not ending.is_set():
            # A router may have no member to read from: whoever reads tries again.
            with (
                contextlib.suppress(*self._lane.server.errors),
                contextlib.closing(routed(self._lane).login(READ_PORT)) as connection,
            ):
                while not ending.wait(_PERIOD_S):
                    self._read(connection)
            ending.wait(_PERIOD_S)

    def _read(self, connection: Any) -> None:
        writer = self._lane.writer
        known = writer.acknowledged[-1] if writer.acknowledged else 0
        self._acknowledged.append((time.monotonic(), known))
        while len(self._acknowledged) > 1 and self._acknowledged[1][0] < time.monotonic() - STALE_S:
            self._acknowledged.popleft()
        at, old = self._acknowledged[0]
        with contextlib.closing(connection.cursor()) as cursor:
            cursor.execute(_READ, (known - _ROWS,))
            rows = {int(number) for (number,) in cursor.fetchall()}
            connection.commit()
        self.reads += 1
        if invented := [row for row in rows if row > writer.newest]:
            self.problems.append(f"a member was read to have the rows {invented[:5]}, which nobody had written")
        if at <= time.monotonic() - STALE_S:
            lacks = [row for row in writer.acknowledged[-_ROWS:] if known - _ROWS < row <= old and row not in rows]
            if lacks:
                self.problems.append(
                    f"a read of a member lacked {len(lacks)} rows acknowledged {STALE_S:.0f} s before: {lacks[:5]}"
                )


def watched(lane: Lane, act: Callable[[], str]) -> tuple[str, str]:
    """Does something to a group, and waits until it is whole again; gives what was seen, and what its readers saw.

    What its readers found wrong, and what members differ in, is a problem of the lane.
    """
    with Watch(lane) as watch:
        seen = act()
        lane.await_writes()
        lane.problems += await_whole(lane)
    lane.problems += dict.fromkeys(watch.problems)
    return seen, watch.told


def await_whole(lane: Lane) -> list[str]:
    """Waits until all members are ONLINE and one is the primary, and gives what each of them lacks or has too much."""
    clients = addresses(lane.settings)
    with lane.waits("all members are ONLINE", BACK_WITHIN_S):
        hosts = eventually(
            lambda: _whole(lane, clients),
            BACK_WITHIN_S,
            "all members are ONLINE, and one says /primary",
            lambda: "\n".join(f"{client}: {said(host)}" for client, host in clients.items()),
        )
    return [problem for client, host in hosts.items() for problem in _differs(lane, client, host)]


def _whole(lane: Lane, clients: dict[str, str]) -> dict[str, str] | None:
    """The clients that run a member and their addresses, None until the group is whole."""
    views = {client: view for client, host in clients.items() if (view := said(host).get("members"))}
    online = ["ONLINE"] * lane.server.members
    whole = len(views) == len(online) and all([one["state"] for one in view] == online for view in views.values())
    hosts = {client: clients[client] for client in views}
    return hosts if whole and sum(map(is_primary, hosts.values())) == 1 else None


def _differs(lane: Lane, client: str, host: str) -> list[str]:
    """Compares a member with the primary, which writes: it has what that one had before, and no more than after."""
    primary, own = lane.stack.server_endpoint(), Endpoint("", "", client, host, MEMBER_PORT)
    acknowledged = set(lane.writer.acknowledged) - lane.writer.elsewhere
    [(before,)] = lane.stack.sql(primary, "SELECT @@GLOBAL.gtid_executed")
    [(late,)] = lane.stack.sql(own, f"SELECT WAIT_FOR_EXECUTED_GTID_SET('{before}', 60)")
    rows = {row for (row,) in lane.stack.sql(own, "SELECT number FROM faults.acknowledged")}
    [(executed,)] = lane.stack.sql(own, "SELECT @@GLOBAL.gtid_executed")
    [(more,)] = lane.stack.sql(primary, f"SELECT GTID_SUBTRACT('{executed}', @@GLOBAL.gtid_executed)")
    problems = [f"{client} lacks {len(acknowledged - rows)} acknowledged rows"] if acknowledged - rows else []
    problems += [f"{client} did not execute within 60 s what the primary had: {before}"] if late else []
    return problems + ([f"{client} has transactions that the primary lacks: {more}"] if more else [])
