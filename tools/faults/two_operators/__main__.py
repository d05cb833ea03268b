"""`python -m tools.faults.two_operators`: two commands change one stack at once, under a writer; status 1 if wrong.

A sandbox of its own (root is needed) with two clients in each of two zones.
"""

from __future__ import annotations

import argparse
import random
import secrets
import sys
from collections.abc import Callable

from tools import markdown
from tools.faults.lane import Lane
from tools.faults.two_operators.run import PAIRS, Outcome
from tools.faults.zone_change.two_zones import outcomes


def table(found: list[Outcome]) -> str:
    """The outcomes as a table of Markdown."""
    head = ["commands", "later, s", "first", "second", "took, s", "acknowledged", "lost"]
    lines = [
        [
            *(one.pair, f"{one.later_s:.0f}{'' if one.at_once else ', after it'}", one.first, one.second),
            *(f"{one.seconds:.0f}", str(one.acknowledged), str(one.lost)),
        ]
        for one in found
    ]
    rows = sum(one.acknowledged for one in found)
    refused = sum(end != "done" for one in found for end in (one.first, one.second))
    lost = found[-1].lost if found else 0
    together = sum(one.at_once for one in found)
    total = f"{len(found)} pairs, {together} at once, {rows} rows acknowledged, {lost} lost, {refused} commands refused"
    return f"{markdown.table(head, lines)}\n\n{total}"


def _attempt(kind: str, dice: random.Random, number: int) -> Callable[[Lane], Outcome]:
    return lambda lane: PAIRS[kind](lane, dice, number)


def main() -> int:
    """1 when something was wrong."""
    parser = argparse.ArgumentParser(prog="python -m tools.faults.two_operators", description=__doc__)
    parser.add_argument("--runs", type=int, default=20, metavar="N", help="how many pairs, of each kind in turn (20)")
    parser.add_argument("--only", choices=tuple(PAIRS), help="one kind of pair")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6), help="decides when the second begins")
    known = parser.parse_args()
    print(f"seed {known.seed}", flush=True)
    dice = random.Random(known.seed)
    kinds = [known.only] if known.only else list(PAIRS)
    runs = [(number, kinds[(number - 1) % len(kinds)]) for number in range(1, known.runs + 1)]
    made = outcomes([(f"{number}: {kind}", _attempt(kind, dice, number)) for number, kind in runs], table)
    problems = [] if any(one.at_once for one in made) else ["no second command began while the first ran"]
    problems += [f"{one.pair}, {one.later_s:.0f} s: {problem}" for one in made for problem in one.problems]
    print("\n".join(problems), file=sys.stderr)
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
