"""`python -m tools.faults.zone_change`: changes of zone under a writer, killed at five points each; status 1 if wrong.

A sandbox of its own (root is needed) with two clients in each of two zones.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial

from tools import markdown
from tools.faults.zone_change import points, run
from tools.faults.zone_change.run import Outcome
from tools.faults.zone_change.two_zones import outcomes


def table(found: list[Outcome]) -> str:
    """The outcomes as a table of Markdown."""
    head = ["command", "killed", "when", "again, s", "MySQL away, s", "acknowledged", "lost", "said, min", "lost, min"]
    return markdown.table(
        head,
        [
            [
                *(one.command, one.killed, one.at, f"{one.seconds:.0f}", f"{one.away_s:.1f}", str(one.acknowledged)),
                *(str(one.lost), f"{one.said_min:.1f}", f"{one.lost_min:.2f}"),
            ]
            for one in found
        ],
    )


def main() -> int:
    """1 when something was wrong."""
    parser = argparse.ArgumentParser(prog="python -m tools.faults.zone_change", description=__doc__)
    parser.add_argument("--only", choices=("move", "failover"), help="one of the commands")
    parser.add_argument("--points", type=int, nargs="+", metavar="N", help="numbers of the points, from 0 (not killed)")
    known = parser.parse_args()
    ways = [
        (way, number, point)
        for name, way, killed in (("move", run.move, points.MOVE), ("failover", run.failover, points.FAILOVER))
        for number, point in enumerate((None, *killed))
        if known.only in (None, name) and (known.points is None or number in known.points)
    ]
    attempts = [(f"{number}: {point or 'not killed'}", partial(way, point=point)) for way, number, point in ways]
    made = outcomes(attempts, table)
    problems = [f"{one.command}, {one.killed} {one.at}: {problem}" for one in made for problem in one.problems]
    print("\n".join(problems), file=sys.stderr)
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
