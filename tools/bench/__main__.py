"""`python -m tools.bench run|page`: measures everything side by side, and shows it in docs/performance.md."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path

from tools.bench import page
from tools.bench.run import Plan, run
from tools.bench.targets import CONTENDERS

QUICK_RESULTS = page.PROJECT / "build/bench"


def main() -> int:
    """1 when something failed that should not, or a page is out of date."""
    known = _parser().parse_args()
    if known.command == "page":
        stale = page.write(check=known.check)
        if stale and known.check:
            print("docs/performance.md is out of date: run `python -m tools.bench page`", file=sys.stderr)
        return int(stale and known.check)
    # So that an end by a signal takes the sandbox down too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    plan = Plan(
        repetitions=1 if known.quick else known.repetitions,
        contenders=[one for one in known.contenders if one != "terraform" or known.terraform_plugins],
        results=QUICK_RESULTS if known.quick else page.RESULTS,
        idle_s=10 if known.quick else known.idle_minutes * 60,
        limit_s=known.minutes * 60,
        cold=known.cold,
        terraform_plugins=known.terraform_plugins,
        official=known.official,
    )
    failed = run(plan)
    if not known.quick:
        page.write(check=False)
    return int(failed)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.bench", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    wanted = commands.add_parser("run", help="measure, in a sandbox of its own, and write the page")
    wanted.add_argument("--repetitions", type=int, default=5, help="how often each case is run (default: 5)")
    wanted.add_argument(
        "--contenders",
        nargs="+",
        choices=list(CONTENDERS),
        default=list(CONTENDERS),
        help="terraform only with the option that names its plugins (default: all)",
    )
    wanted.add_argument("--cold", action="store_true", help="also `make up` with nothing cached, once (minutes)")
    wanted.add_argument("--idle-minutes", type=float, default=3, help="how long a stack is watched doing nothing")
    wanted.add_argument("--minutes", type=float, default=90, help="start no further pass after this long")
    wanted.add_argument("--quick", action="store_true", help="one of each, kept out of the committed results")
    wanted.add_argument(
        "--terraform-plugins", type=Path, metavar="FOLDER", help="where terraform finds its AWS provider (-plugin-dir)"
    )
    wanted.add_argument("--official", type=Path, metavar="FOLDER", help="folder of official release archives to use")
    shown = commands.add_parser("page", help="write the page and its figures from the committed results")
    shown.add_argument("--check", action="store_true", help="only compare")
    return parser


if __name__ == "__main__":
    sys.exit(main())
