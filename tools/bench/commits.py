"""`python -m tools.bench.commits`: how long a commit takes with a group of three MySQL servers, and with a single one.

Each is deployed in a sandbox of its own with three zones and three Nomad servers (root is needed), the group once for
each delay between zones. Clients commit one row at a time: through a router, or on the single server.
"""

from __future__ import annotations

import argparse
import contextlib
import signal
import statistics
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Final

from tools import json_lines, markdown
from tools.bench.page import PROJECT
from tools.faults.lane import Lane, open_lane
from tools.faults.members import await_whole
from tools.trial.ground import claim
from tools.trial.running import ended_well
from tools.trial.servers import MYSQL, MYSQL_GROUP, Server

RESULTS: Final = PROJECT / "build/bench/commits.jsonl"
_DELAYS_MS: Final = (0.0, 0.5, 1.0)
_CLIENTS: Final = (1, 8)
_COMMITS: Final = 1600
_WARM_UP: Final = 100
_HEAD: Final = ("", "deployed in", "clients", "commits a second", "a commit: median", "p99")


@dataclass(frozen=True)
class Commits:
    """What clients saw that commit beside each other."""

    server: str
    delay_ms: float
    """Of a packet, each way between two zones."""
    up_s: float
    """The stack from nothing, in a sandbox that runs."""
    clients: int
    per_s: float
    """Commits of all."""
    median_ms: float
    """Of one commit."""
    p99_ms: float

    @property
    def cells(self) -> list[str]:
        """As a line of a table."""
        where = f"{self.server}, {self.delay_ms:g} ms between zones" if self.server != MYSQL.title else "single server"
        times = (f"{one:.1f} ms" for one in (self.median_ms, self.p99_ms))
        return [where, f"{self.up_s:.0f} s", str(self.clients), f"{self.per_s:.0f}", *times]


def measure(lane: Lane, delay_ms: float, up_s: float) -> list[Commits]:
    """One line for each number of clients."""
    lane.writer.end()
    with lane.database.connected() as (_, connection), contextlib.closing(connection.cursor()) as cursor:
        cursor.execute("CREATE TABLE faults.commits (id BIGINT AUTO_INCREMENT PRIMARY KEY, body CHAR(100))")
    lines = []
    for clients in _CLIENTS:
        _client(lane, _WARM_UP)
        began = time.monotonic()
        with ThreadPoolExecutor(clients) as pool:
            seconds = [*chain.from_iterable(pool.map(_client, [lane] * clients, [_COMMITS // clients] * clients))]
        per_s = len(seconds) / (time.monotonic() - began)
        p99_s = statistics.quantiles(seconds, n=100)[-1]
        of_one = (per_s, statistics.median(seconds) * 1000, p99_s * 1000)
        lines.append(Commits(lane.server.title, delay_ms, up_s, clients, *(round(one, 2) for one in of_one)))
    return lines


def _client(lane: Lane, commits: int) -> list[float]:
    """Seconds of each commit of one client."""
    seconds = []
    with lane.database.connected() as (_, connection), contextlib.closing(connection.cursor()) as cursor:
        for _ in range(commits):
            began = time.monotonic()
            cursor.execute("INSERT INTO faults.commits (body) VALUES (REPEAT('x', 100))")
            connection.commit()
            seconds.append(time.monotonic() - began)
    return seconds


def _measured(server: Server, delay_ms: float) -> list[Commits]:
    ground = replace(claim(), servers=3, clients=3, zone_delay_ms=delay_ms)
    with (
        tempfile.TemporaryDirectory(prefix="nomad-stateful-commits-") as folder,
        open_lane(0, ground, Path(folder), server=server) as lane,
    ):
        began = time.monotonic()
        ended_well(lane.up())
        up_s = time.monotonic() - began
        lane.writer.begin()
        lane.await_writes()
        if server.members > 1:
            await_whole(lane)
        return measure(lane, delay_ms, round(up_s, 1))


def main() -> int:
    """Measures, appends to RESULTS, and prints a table."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.commits", description=__doc__)
    parser.add_argument("--delays", nargs="+", type=float, default=_DELAYS_MS, metavar="MS", help="between zones")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    lines: list[Commits] = []
    for server, delay_ms in [(MYSQL, 0.0), *((MYSQL_GROUP, one) for one in arguments.delays)]:
        print(f"{server.title}, {delay_ms:g} ms between zones: about two minutes", file=sys.stderr, flush=True)
        measured = _measured(server, delay_ms)
        for one in measured:
            json_lines.append(RESULTS, asdict(one))
        lines += measured
    print(markdown.table(_HEAD, [one.cells for one in lines]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
