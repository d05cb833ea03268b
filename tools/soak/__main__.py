"""`python -m tools.soak`: a stack's simulated month in the hours that there are; status 1 where something grows.

Status 1 too where a promise is broken, or the judge says wrong, or it was interrupted.
"""

from __future__ import annotations

import argparse
import secrets
import shutil
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from ipaddress import IPv4Network
from pathlib import Path
from typing import Final

from sandbox.machine import requirements
from tools.faults import plan
from tools.faults.command_line import folder, interrupted_between_runs, speaker
from tools.faults.runner import Options, Runner
from tools.soak import report
from tools.soak.actions import life
from tools.soak.month import KEEP, Month

RESULTS: Final = Path("build/soak")
SAMPLES, TABLE, CURVES = "samples.jsonl", "table.md", "curves.svg"


def main(argv: Sequence[str] | None = None) -> int:
    """Runs what the arguments say."""
    parser = _parser()
    arguments = parser.parse_args(argv)
    if lacking := requirements.lacking():
        parser.error(f"this machine cannot run a sandbox: {lacking}")
    results = Path(arguments.results)
    results.mkdir(parents=True, exist_ok=True)
    run, say = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ} seed {arguments.seed}", speaker()
    month = Month(arguments.hours * 3600, arguments.seed, life(), results / SAMPLES, run, say)
    say(f"seed {arguments.seed}: a month in {arguments.hours:g} h; samples are appended to {month.file}")
    lanes = Path(tempfile.mkdtemp(prefix="nomad-stateful-lanes-"))
    options = Options(
        lanes=1,
        name=arguments.name,
        subnet=arguments.subnet,
        folder=lanes,
        kept=results / f"seed-{arguments.seed}",
        repeat=lambda _step: f"make soak HOURS={arguments.hours:g} SEED={arguments.seed}",
        say=say,
        official=arguments.official,
    )
    runner = Runner(options, [plan.Step(1, month.fault(), arguments.seed)], stop=month.stop)
    try:
        with interrupted_between_runs(runner):
            runner.run()
    except KeyboardInterrupt:
        say("interrupted again: what came out so far")
    finally:
        shutil.rmtree(lanes, ignore_errors=True)
    problems = [one for result in runner.results for one in (*result.problems, *result.orphans)]
    return told(month, problems, results)


def told(month: Month, problems: list[str], results: Path) -> int:
    """Writes and prints what there is, and gives the exit status."""
    if (sampler := month.sampler) is None:
        print("\n".join([*problems, "it ended before anything was watched"]))
        return 1
    series = {name: list(points) for name, points in sampler.series.items()}
    seen_s = max((one.at for points in series.values() for one in points), default=1.0)
    # Interrupted, it is judged by the time that it had.
    length_s = min(seen_s, month.length_s)
    keep = {"count/scheduled snapshots of a volume": KEEP, "count/dumps on the volume": KEEP}
    verdicts = report.verdicts(series, length_s, {**keep, "count/S3 objects": month.dumps})
    text = report.table(verdicts)
    (results / TABLE).write_text(f"{month.run}\n\n{text}\n", encoding="utf-8")
    (results / CURVES).write_text(report.curves(series, verdicts, length_s, month.run), encoding="utf-8")
    print(f"\n{text}\n")
    for source, times in sampler.failures.items():
        print(f"{source}: not read {times} times of {sampler.looks[source]}: {sampler.errors[source]}")
    problems = [*problems, *(f"{one.name} {one.word}" for one in verdicts if one.wrong), *sampler.unread()]
    counts = ", ".join(f"{number} {what}" for what, number in sorted(month.counts.items()))
    print(f"{sampler.day} days, {len(month.results)} steps, {month.dumps} dumps, {sampler.samples} samples")
    print(f"the judge read: {counts}")
    print("\n".join(f"wrong: {one}" for one in problems) or "nothing grows, no promise is broken")
    print(f"{results / TABLE}, {results / CURVES}")
    if month.stop.is_set():
        print("interrupted: this is what there is")
    return 1 if problems or month.stop.is_set() else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.soak", description=__doc__)
    parser.add_argument("--hours", type=float, default=4.0, help="how long the month takes (4)")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6), help="default: a new one each time")
    parser.add_argument("--results", default=str(RESULTS), metavar="FOLDER", help=f"where results go ({RESULTS})")
    parser.add_argument("--official", type=folder, metavar="DIR", help="folder of official release archives to use")
    parser.add_argument("--name", default="ns", help="name of the sandbox")
    parser.add_argument("--subnet", type=IPv4Network, default=IPv4Network("10.173.150.0/24"), help="the sandbox's")
    return parser


if __name__ == "__main__":
    sys.exit(main())
