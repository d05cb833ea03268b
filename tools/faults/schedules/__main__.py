"""`python -m tools.faults.schedules`: runs schedules drawn by seed, and has their histories judged; status 1 if wrong.

Results are appended to a file. A schedule that fails is shrunk, and written to a file from which it can be run again.
"""

from __future__ import annotations

import argparse
import json
import secrets
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Network
from pathlib import Path
from typing import Final

from sandbox.machine import requirements
from tools.faults import plan
from tools.faults.command_line import folder, interrupted_between_runs, piece, positive, speaker
from tools.faults.model import Fault
from tools.faults.runner import Options, Runner
from tools.faults.schedules import report
from tools.faults.schedules.actions import every_action
from tools.faults.schedules.model import Schedule, drawn, shrunk
from tools.faults.schedules.play import Play
from tools.faults.table import Result
from tools.trial.servers import MYSQL, SERVERS

RESULTS: Final = Path("build/histories")
"""The folder of results.jsonl, of what failed schedules left, and of the schedules themselves."""


@dataclass
class Session:
    """One start of the command: what it runs, and where it writes."""

    arguments: argparse.Namespace
    actions: Mapping[str, Fault]
    say: Callable[[str], None] = field(default_factory=speaker)

    @property
    def file(self) -> Path:
        """The results of this start and of earlier ones."""
        return Path(self.arguments.results) / "results.jsonl"

    def run(self, schedules: Mapping[int, Schedule]) -> bool:
        """Runs them, and shrinks those that fail; whether all were run and are right."""
        plays = {number: Play(schedule, self.actions) for number, schedule in schedules.items()}
        results = self.played(plays, self._append)
        failed = [one for one in results if one.failed]
        for result in failed:
            if plays[result.number].reached and not self.arguments.run_once:
                self._shrink(plays[result.number], result)
        return not failed and len(results) == len(plays)

    def played(self, plays: Mapping[int, Play], append: Callable[[Play, Result], None]) -> list[Result]:
        """Runs schedules, each result handed over as it comes."""
        lanes = Path(tempfile.mkdtemp(prefix="nomad-stateful-lanes-"))
        options = Options(
            lanes=self.arguments.lanes,
            name=self.arguments.name,
            subnet=self.arguments.subnet,
            folder=lanes,
            kept=Path(self.arguments.results) / f"seed-{self.arguments.seed}",
            repeat=self.repeat,
            say=self.say,
            report=lambda result: append(plays[result.number], result),
            official=self.arguments.official,
            server=SERVERS[self.arguments.database],
        )
        steps = [plan.Step(number, play.fault(), self.arguments.seed) for number, play in plays.items()]
        runner = Runner(options, steps)
        try:
            with interrupted_between_runs(runner):
                return runner.run()
        finally:
            shutil.rmtree(lanes, ignore_errors=True)

    def repeat(self, step: plan.Step) -> str:
        """The command that runs one schedule again."""
        return f"make histories{self._of_database} SEED={self.arguments.seed} RUN={step.number}"

    @property
    def _of_database(self) -> str:
        database = self.arguments.database
        return "" if database == MYSQL.name else f" DATABASE={database}"

    def _append(self, play: Play, result: Result) -> None:
        problems = found(result)
        verdict = report.verdict_of(problems) if play.reached else "not run"
        line = report.Line(
            self.arguments.seed,
            result.number,
            str(play.schedule),
            verdict,
            problems,
            dict(play.counts),
            round(result.seconds, 1),
            result.database or MYSQL.title,
        )
        report.append(self.file, line)
        self.say(f"schedule {result.number}: {verdict}: {play.schedule}")
        for problem in problems:
            self.say(f"  {problem}")

    def _shrink(self, play: Play, result: Result) -> None:
        """Finds what the schedule fails without, and writes the rest to a file."""
        path = Path(self.arguments.results) / f"failed-{self.arguments.seed}-{result.number}.json"
        verdict, smallest = report.verdict_of(found(result)), play.schedule.until(play.reached)

        def keep(schedule: Schedule) -> None:
            path.write_text(json.dumps(schedule.document(), indent=2) + "\n", encoding="utf-8")

        def fails(smaller: Schedule) -> bool:
            self.say(f"schedule {result.number}, does it fail too: {smaller}")
            again = Play(smaller, self.actions)
            [came] = self.played({result.number: again}, lambda _play, _result: None)
            same = bool(again.reached) and report.verdict_of(found(came)) == verdict
            if same:
                keep(smaller)
            return same

        keep(smallest)
        smallest = shrunk(smallest, fails, self.arguments.attempts)
        self.say(f"schedule {result.number} fails as: {smallest}")
        self.say(f"  again: make histories{self._of_database} SCHEDULE={path}")


def found(result: Result) -> list[str]:
    """All that is wrong with a run."""
    lost = [f"{len(result.lost)} acknowledged rows are missing"] if result.lost else []
    return [*result.problems, *lost, *(f"orphan: {orphan}" for orphan in result.orphans)]


def main(argv: Sequence[str] | None = None) -> int:
    """Runs what the arguments say."""
    parser = _parser()
    arguments = parser.parse_args(argv)
    session = Session(arguments, every_action(SERVERS[arguments.database]))
    numbers = [number for numbers in arguments.run for number in numbers] or list(range(1, arguments.runs + 1))
    schedules = {number: drawn(session.actions, arguments.seed, number) for number in numbers}
    if arguments.schedule:
        schedules = dict(enumerate(map(Schedule.read, arguments.schedule), start=1))
    if arguments.list:
        print("\n".join(f"{number:4}  {schedule}" for number, schedule in schedules.items()))
        return 0
    if lacking := requirements.lacking():
        parser.error(f"this machine cannot run a sandbox: {lacking}")
    title = SERVERS[arguments.database].title
    session.say(f"{title}, seed {arguments.seed}: {len(schedules)} schedules; results are appended to {session.file}")
    right = session.run(schedules)
    print(f"\n{report.table(report.read(session.file))}")
    return 0 if right else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.faults.schedules", description=__doc__)
    parser.add_argument("--runs", type=positive, default=10, help="number of schedules (10)")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6), help="default: a new one each time")
    parser.add_argument("--database", choices=SERVERS, default=MYSQL.name, help="of the stacks (%(default)s)")
    parser.add_argument(
        "--run", action="append", type=piece, default=[], help="just this schedule, or 1-24; repeatable"
    )
    parser.add_argument("--schedule", action="append", type=folder, default=[], metavar="FILE", help="run this one")
    parser.add_argument("--lanes", type=positive, default=1, help="sandboxes at the same time (1)")
    parser.add_argument("--attempts", type=int, default=8, help="how often a failing one is run to shrink it (8)")
    parser.add_argument("--run-once", action="store_true", help="do not shrink what fails")
    parser.add_argument("--list", action="store_true", help="print the schedules and do nothing")
    parser.add_argument("--results", default=str(RESULTS), metavar="FOLDER", help=f"where results go ({RESULTS})")
    parser.add_argument("--official", type=folder, metavar="DIR", help="folder of official release archives to use")
    parser.add_argument("--name", default="nh", help="name of the sandboxes; each lane's number is appended")
    parser.add_argument("--subnet", type=IPv4Network, default=IPv4Network("10.173.140.0/24"), help="the first lane's")
    return parser


if __name__ == "__main__":
    sys.exit(main())
