"""`python -m tools.faults.two_operators`: two commands change one stack at once, under a writer; status 1 if wrong.

A sandbox of its own (root is needed) with two clients in each of two zones.
"""

from __future__ import annotations

import argparse
import random
import secrets
import signal
import sys
import tempfile
from pathlib import Path

from tools.faults.kind import Kind
from tools.faults.lane import open_lane
from tools.faults.runner import bring
from tools.faults.two_operators.run import PAIRS, Outcome
from tools.faults.zone_change.__main__ import TwoZones, kept_where_it_fails
from tools.trial.ground import claim


def table(outcomes: list[Outcome]) -> str:
    """The outcomes as a table of Markdown."""
    head = ["commands", "later, s", "first", "second", "took, s", "acknowledged", "lost"]
    lines = [head, ["---"] * len(head)]
    lines += [
        [
            one.pair,
            f"{one.later_s:.0f}",
            one.first,
            one.second,
            f"{one.seconds:.0f}",
            str(one.acknowledged),
            str(one.lost),
        ]
        for one in outcomes
    ]
    rows = sum(one.acknowledged for one in outcomes)
    refused = sum(end != "done" for one in outcomes for end in (one.first, one.second))
    lost = outcomes[-1].lost if outcomes else 0
    total = f"{len(outcomes)} pairs, {rows} rows acknowledged, {lost} lost, {refused} commands refused"
    return "\n".join([*(f"| {' | '.join(line)} |" for line in lines), "", total])


def main() -> int:
    """1 when something was wrong."""
    parser = argparse.ArgumentParser(prog="python -m tools.faults.two_operators", description=__doc__)
    parser.add_argument("--runs", type=int, default=20, metavar="N", help="how many pairs, of each kind in turn (20)")
    parser.add_argument("--only", choices=tuple(PAIRS), help="one kind of pair")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6), help="decides when the second begins")
    known = parser.parse_args()
    # So that an end by a signal takes the sandbox down too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    print(f"seed {known.seed}", flush=True)
    dice = random.Random(known.seed)
    kinds = [known.only] if known.only else list(PAIRS)
    outcomes: list[Outcome] = []
    ground = claim()
    with (
        tempfile.TemporaryDirectory(prefix="nomad-stateful-operators-") as home,
        open_lane(0, Kind(), TwoZones(ground.name, ground.subnet), Path(home)) as lane,
    ):
        bring(lane, "deployed")
        for number in range(1, known.runs + 1):
            kind = kinds[(number - 1) % len(kinds)]
            print(f"==> {number}: {kind}", file=sys.stderr, flush=True)
            with kept_where_it_fails(lane):
                outcomes.append(PAIRS[kind](lane, dice, number))
            print(outcomes[-1], file=sys.stderr, flush=True)
            print(f"\n{table(outcomes)}\n", flush=True)
    problems = [f"{one.pair}, {one.later_s:.0f} s: {problem}" for one in outcomes for problem in one.problems]
    print("\n".join(problems), file=sys.stderr)
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
