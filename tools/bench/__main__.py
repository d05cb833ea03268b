"""`python -m tools.bench run|page`: measures everything side by side, and shows it in docs/performance.md."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path

from tools.bench import page
from tools.bench.run import Plan, run

QUICK_RESULTS = page.PROJECT / "build/bench"


def main() -> int:
    """1 when something failed that should not, or a page is out of date."""
    options = _parser().parse_args()
    if options.command == "page":
        stale = page.write(check=options.check)
        if stale and options.check:
            print("docs/performance.md is out of date: run `python -m tools.bench page`", file=sys.stderr)
        return int(stale and options.check)
    # So that an end by a signal takes the sandbox down too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    repetitions, results = (1, QUICK_RESULTS) if options.quick else (options.repetitions, page.RESULTS)
    failed = run(Plan(repetitions, results, options.minutes * 60, options.official))
    if not options.quick:
        page.write(check=False)
    return int(failed)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.bench", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    measure = commands.add_parser("run", help="measure, in a sandbox of its own, and write the page")
    measure.add_argument("--repetitions", type=int, default=5, help="how often each case is run (default: 5)")
    measure.add_argument("--minutes", type=float, default=90, help="start no further pass after this long")
    measure.add_argument("--quick", action="store_true", help="one of each, kept out of the committed results")
    measure.add_argument("--official", type=Path, metavar="FOLDER", help="folder of official release archives to use")
    shown = commands.add_parser("page", help="write the page and its figures from the committed results")
    shown.add_argument("--check", action="store_true", help="only compare")
    return parser


if __name__ == "__main__":
    sys.exit(main())
