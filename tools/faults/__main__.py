"""`python -m tools.faults`: injects faults by a seeded plan; status 1 when a promise was broken."""

from __future__ import annotations

import argparse
import json
import secrets
import shlex
import shutil
import sys
import tempfile
from collections.abc import Sequence
from ipaddress import IPv4Network
from pathlib import Path

from sandbox.machine import requirements
from tools.faults.cases import every_fault
from tools.faults.command_line import folder, interrupted_between_runs, positive, speaker
from tools.faults.plan import Step, chosen, plan
from tools.faults.runner import Options, Runner
from tools.faults.table import Result, document, failures, tables
from tools.trial.servers import GROUPS, MYSQL, SERVERS

SHORT, LONG = (20, 1), (200, 3)
"""Runs and lanes of the two modes."""
_SERVERS = {**SERVERS, **GROUPS}
RESULTS = "results.txt"
"""The table and the failures so far, in the folder of what is kept."""


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
        steps = [step for step in steps if step.number in arguments.run]
    if arguments.list:
        for step in steps:
            print(f"{step.number:4}  {step.fault.family:9} {step.fault.name}")
        return 0
    if lacking := requirements.lacking():
        parser.error(f"this machine cannot run a sandbox: {lacking}")
    return _run(steps, arguments)


def repeat(step: Step, arguments: argparse.Namespace) -> str:
    """The command that repeats just one run of a plan."""
    words = [".venv/bin/python", "-m", "tools.faults", "--seed", str(arguments.seed), "--runs", str(arguments.runs)]
    if arguments.database != MYSQL.name:
        words += ["--database", arguments.database]
    if arguments.servers > 1:
        words += ["--servers", str(arguments.servers)]
    if arguments.official:
        words += ["--official", str(arguments.official)]
    for word in arguments.only:
        words += ["--only", word]
    return shlex.join([*words, "--run", str(step.number)])


def _run(steps: Sequence[Step], arguments: argparse.Namespace) -> int:
    say = speaker()
    title = _SERVERS[arguments.database].title
    say(
        f"{title}, seed {arguments.seed}: {len(steps)} runs, {arguments.lanes} lane{'s' if arguments.lanes > 1 else ''}"
    )
    lanes = Path(tempfile.mkdtemp(prefix="nomad-stateful-lanes-"))
    kept = Path(arguments.keep or tempfile.mkdtemp(prefix="nomad-stateful-faults-"))
    options = Options(
        lanes=arguments.lanes,
        name=arguments.name,
        subnet=arguments.subnet,
        folder=lanes,
        kept=kept,
        repeat=lambda step: repeat(step, arguments),
        say=say,
        report=lambda results: _write(results, arguments.seed, kept, arguments.json),
        official=arguments.official,
        server=_SERVERS[arguments.database],
        servers=arguments.servers,
        without=frozenset(arguments.without),
    )
    say(f"results as they come: {kept / RESULTS}")
    runner = Runner(options, steps)
    try:
        with interrupted_between_runs(runner):
            runner.run()
    except KeyboardInterrupt:
        say("interrupted again: what came out so far")
    finally:
        shutil.rmtree(lanes, ignore_errors=True)
    results = runner.results
    print(f"\n{tables(results)}\n", flush=True)
    _write(results, arguments.seed, kept, arguments.json)
    failed = any(one.failed for one in results)
    if failed:
        print(failures(results, arguments.seed))
    elif not arguments.keep:
        shutil.rmtree(kept)
    return 1 if failed or len(results) < len(steps) else 0


def _write(results: Sequence[Result], seed: int, kept: Path, json_file: str | None) -> None:
    """Writes what came out so far: a run that is ended in whatever way leaves it."""
    kept.mkdir(parents=True, exist_ok=True)
    _replace(kept / RESULTS, f"{tables(results)}\n\n{failures(results, seed)}".rstrip() + "\n")
    if json_file:
        _replace(Path(json_file), json.dumps(document(results, seed), indent=2) + "\n")


def _replace(path: Path, text: str) -> None:
    new = path.with_name(f"{path.name}.new")
    new.write_text(text, encoding="utf-8")
    new.replace(path)


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
    parser.add_argument("--run", action="append", type=positive, default=[], help="just this run of the plan")
    parser.add_argument(
        "--without", action="append", default=[], type=positive, help="leave this change of a sequence out; repeatable"
    )
    parser.add_argument("--list", action="store_true", help="print the plan and do nothing")
    parser.add_argument("--json", metavar="FILE", help="write the results there too")
    parser.add_argument("--official", type=folder, metavar="DIR", help="folder of official release archives to use")
    parser.add_argument("--keep", metavar="FOLDER", help="where logs of failed runs go (default: a new one)")
    parser.add_argument("--name", default="nf", help="name of the sandboxes; each lane's number is appended")
    parser.add_argument("--subnet", type=IPv4Network, default=IPv4Network("10.173.130.0/24"), help="the first lane's")
    return parser


if __name__ == "__main__":
    sys.exit(main())
