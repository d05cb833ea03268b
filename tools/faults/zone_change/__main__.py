"""`python -m tools.faults.zone_change`: changes of zone under a writer, killed at five points each; status 1 if wrong.

A sandbox of its own (root is needed) with two clients in each of two zones.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tools.faults.kind import Kind
from tools.faults.lane import Lane, open_lane
from tools.faults.runner import bring, keep_logs
from tools.faults.zone_change import points, run
from tools.faults.zone_change.run import Outcome
from tools.trial.ground import Ground, claim

_CLIENT = '[[instances]]\nname = "{name}"\nzone = "{zone}"\n'


@dataclass(frozen=True)
class TwoZones(Ground):
    """With two clients in each zone, so that either can be lost."""

    @property
    def config(self) -> str:
        """What sandbox.toml says of it."""
        places = [(name, zone) for zone, names in run.CLIENTS.items() for name in names]
        return super().config + "".join(_CLIENT.format(name=name, zone=zone) for name, zone in places)


def table(outcomes: list[Outcome]) -> str:
    """The outcomes as a table of Markdown."""
    head = ["command", "killed", "when", "again, s", "MySQL away, s", "acknowledged", "lost", "said, min", "lost, min"]
    lines = [head, ["---"] * len(head)]
    lines += [
        [
            one.command,
            one.killed,
            one.at,
            f"{one.seconds:.0f}",
            f"{one.away_s:.1f}",
            str(one.acknowledged),
            str(one.lost),
            f"{one.said_min:.1f}",
            f"{one.lost_min:.2f}",
        ]
        for one in outcomes
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


@contextmanager
def kept_where_it_fails(lane: Lane) -> Iterator[None]:
    """Keeps what tells about a change that raises: its logs go with the sandbox."""
    try:
        yield
    except BaseException:
        folder = keep_logs(lane, Path(tempfile.mkdtemp(prefix="nomad-stateful-zones-failed-")))
        print(f"its logs: {folder}", file=sys.stderr, flush=True)
        raise


def main() -> int:
    """1 when something was wrong."""
    parser = argparse.ArgumentParser(prog="python -m tools.faults.zone_change", description=__doc__)
    parser.add_argument("--only", choices=("move", "failover"), help="one of the commands")
    parser.add_argument("--points", type=int, nargs="+", metavar="N", help="numbers of the points, from 0 (not killed)")
    known = parser.parse_args()
    # So that an end by a signal takes the sandbox down too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    ways = [
        (way, number, point)
        for name, way, killed in (("move", run.move, points.MOVE), ("failover", run.failover, points.FAILOVER))
        for number, point in enumerate((None, *killed))
        if known.only in (None, name) and (known.points is None or number in known.points)
    ]
    outcomes: list[Outcome] = []
    ground = claim()
    with (
        tempfile.TemporaryDirectory(prefix="nomad-stateful-zones-") as home,
        open_lane(0, Kind(), TwoZones(ground.name, ground.subnet), Path(home)) as lane,
    ):
        bring(lane, "deployed")
        for way, number, point in ways:
            print(f"==> {number}: {point or 'not killed'}", file=sys.stderr, flush=True)
            with kept_where_it_fails(lane):
                outcomes.append(way(lane, point))
            print(outcomes[-1], file=sys.stderr, flush=True)
            print(f"\n{table(outcomes)}\n", flush=True)
    problems = [f"{one.command}, {one.killed} {one.at}: {problem}" for one in outcomes for problem in one.problems]
    print("\n".join(problems), file=sys.stderr)
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
