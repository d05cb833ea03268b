"""`python -m tools.faults`: injects faults by a seeded plan; status 1 when a promise was broken."""

from __future__ import annotations

import argparse
import secrets
import shlex
import shutil
import sys
import tempfile
from collections.abc import Sequence
from ipaddress import IPv4Network
from pathlib import Path

from sandbox.machine import requirements
from tools.faults import table
from tools.faults.cases import every_fault
from tools.faults.command_line import folder, interrupted_between_runs, piece, positive, speaker
from tools.faults.plan import Step, chosen, plan
from tools.faults.runner import Options, Runner
from tools.trial.servers import GROUPS, MYSQL, SERVERS

SHORT, LONG = (20, 1), (200, 3)
"""Runs and lanes of the two modes."""
_SERVERS = {**SERVERS, **GROUPS}
RESULTS = Path("build/faults")
"""The folder of results.jsonl, and of the logs of failed runs."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs what the arguments say."""
    parser = _parser()
    arguments = parser.parse_args(argv)
    runs, lanes = LONG if arguments.long else SHORT
    arguments.runs, arguments.lanes = arguments.runs or runs, arguments.lanes or lanes
    server = _SERVERS[arguments.database]
    # A group has a zone for each member, and so has Nomad.
    arguments.servers = max(arguments.servers, server.members)
    try:
        faults = chosen(every_fault(server, arguments.servers), arguments.only)
    except ValueError as error:
        parser.error(str(error))
    for fault in faults:
        if why := fault.cannot():
            print(f"left out: {fault.name}: {why}", flush=True)
    faults = [fault for fault in faults if not fault.cannot()]
    if not faults:
        parser.error("no fault is left")
    steps = plan(faults, arguments.runs, arguments.seed)
    if arguments.run:
        steps = [step for step in steps if any(step.number in piece for piece in arguments.run)]
    if arguments.list:
        for step in steps:
            print(f"{step.number:4}  {step.fault.family:9} {step.fault.name}")
        return 0
    if lacking := requirements.lacking():
        parser.error(f"this machine cannot run a sandbox: {lacking}")
    return _run(steps, arguments)


def repeat(step: Step, arguments: argparse.Namespace) -> str:
    """The command that repeats just one run of a plan."""
    words = [".venv/bin/python", "-m", "tools.faults", *_plan(arguments)]
    if arguments.official:
        words += ["--official", str(arguments.official)]
    return shlex.join([*words, "--run", str(step.number)])


def _plan(arguments: argparse.Namespace) -> list[str]:
    """The arguments that choose the same faults in the same order."""
    words = ["--seed", str(arguments.seed), "--runs", str(arguments.runs)]
    if arguments.database != MYSQL.name:
        words += ["--database", arguments.database]
    if arguments.servers > 1:
        words += ["--servers", str(arguments.servers)]
    for word in arguments.only:
        words += ["--only", word]
    return words


def _run(steps: Sequence[Step], arguments: argparse.Namespace) -> int:
    say = speaker()
    title = _SERVERS[arguments.database].title
    say(
        f"{title}, seed {arguments.seed}: {len(steps)} runs, {arguments.lanes} lane{'s' if arguments.lanes > 1 else ''}"
    )
    lanes = Path(tempfile.mkdtemp(prefix="nomad-stateful-lanes-"))
    folder_of_results = Path(arguments.results)
    file, plan_of_results = folder_of_results / "results.jsonl", shlex.join(_plan(arguments))
    options = Options(
        lanes=arguments.lanes,
        name=arguments.name,
        subnet=arguments.subnet,
        folder=lanes,
        kept=folder_of_results / f"seed-{arguments.seed}",
        repeat=lambda step: repeat(step, arguments),
        say=say,
        report=lambda result: table.append(file, plan_of_results, result),
        official=arguments.official,
        server=_SERVERS[arguments.database],
        servers=arguments.servers,
        without=frozenset(arguments.without),
    )
    say(f"results are appended to {file}")
    runner = Runner(options, steps)
    try:
        with interrupted_between_runs(runner):
            runner.run()
    except KeyboardInterrupt:
        say("interrupted again: what came out so far")
    finally:
        shutil.rmtree(lanes, ignore_errors=True)
    # Of the whole plan: this start may have run a piece of it.
    results = table.read(file, plan_of_results)
    if any(one.pauses for one in results):
        (folder_of_results / "pauses.svg").write_text(table.picture(results), encoding="utf-8")
    print(f"\n{table.tables(results)}\n\n{table.failures(results, arguments.seed)}".rstrip(), flush=True)
    return 1 if any(one.failed for one in runner.results) or len(runner.results) < len(steps) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.faults", description=__doc__)
    parser.add_argument("--long", action="store_true", help=f"{LONG[0]} runs in {LONG[1]} lanes")
    parser.add_argument("--runs", type=positive, help=f"number of runs (default: {SHORT[0]})")
    parser.add_argument("--lanes", type=positive, help=f"sandboxes at the same time (default: {SHORT[1]})")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6), help="default: a new one each time")
    parser.add_argument("--database", choices=_SERVERS, default=MYSQL.name, help="of the stacks (%(default)s)")
    parser.add_argument(
        "--servers", type=int, choices=(1, 3), default=1, help="Nomad servers of each sandbox: 3 in as many zones"
    )
    parser.add_argument("--only", action="append", default=[], help="a family, or a part of a fault's name; repeatable")
    parser.add_argument("--run", action="append", type=piece, default=[], help="just this run of the plan, or 1-24")
    parser.add_argument(
        "--without", action="append", default=[], type=positive, help="leave this change of a sequence out; repeatable"
    )
    parser.add_argument("--list", action="store_true", help="print the plan and do nothing")
    parser.add_argument("--official", type=folder, metavar="DIR", help="folder of official release archives to use")
    parser.add_argument("--results", default=str(RESULTS), metavar="FOLDER", help=f"where results go ({RESULTS})")
    parser.add_argument("--name", default="nf", help="name of the sandboxes; each lane's number is appended")
    parser.add_argument("--subnet", type=IPv4Network, default=IPv4Network("10.173.130.0/24"), help="the first lane's")
    return parser


if __name__ == "__main__":
    sys.exit(main())
