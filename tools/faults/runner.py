"""Runs a plan over one or several lanes, and checks after each run what must hold."""

from __future__ import annotations

import contextlib
import itertools
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from ipaddress import IPv4Network
from pathlib import Path
from typing import Final

from tools.faults import checks
from tools.faults.lane import Doing, Lane, open_lane
from tools.faults.model import State
from tools.faults.pauses import Pauses
from tools.faults.plan import Step, deal
from tools.faults.table import Result
from tools.trial.call_record import Calls, detached_while_mounted
from tools.trial.ground import Ground
from tools.trial.running import ended_well, traces
from tools.trial.servers import MYSQL, Server

_REPORT_EVERY_S: Final = 15.0


@dataclass(frozen=True)
class Options:
    """How the lanes are called and where; which folders to use; how one run is repeated."""

    lanes: int
    name: str
    """Name of the lanes' sandboxes; each gets its number appended."""
    subnet: IPv4Network
    """The first lane's subnet; the others take those that follow."""
    folder: Path
    """Where the lanes live; empty afterwards."""
    kept: Path
    """Where logs of failed runs go."""
    repeat: Callable[[Step], str]
    """The command that repeats just this run."""
    say: Callable[[str], None] = print
    report: Callable[[Result], None] = lambda _: None
    """Takes each result, and once more where its sandbox left something; never called twice at the same time."""
    official: Path | None = None
    """Folder of official parts that the lanes' sandboxes use."""
    server: Server = MYSQL
    """The database server of the lanes' stacks."""
    servers: int = 1
    """Nomad servers of the lanes' sandboxes."""
    without: frozenset[int] = frozenset()
    """Numbers of the changes that are left out of each sequence."""


@dataclass
class Runner:
    """Runs steps in lanes of their own, until all are done or `stop` is set."""

    options: Options
    steps: Sequence[Step]
    stop: threading.Event = field(default_factory=threading.Event)
    results: list[Result] = field(default_factory=list)
    _busy: dict[int, tuple[str, Lane]] = field(default_factory=dict)
    _reporting: threading.Lock = field(default_factory=threading.Lock)

    def run(self) -> list[Result]:
        """The results by number; every lane is down when this returns."""
        finished = threading.Event()
        reporter = threading.Thread(target=self._report, args=(finished,), name="reporter", daemon=True)
        reporter.start()
        dealt = [steps for steps in deal(self.steps, self.options.lanes) if steps]
        try:
            with ThreadPoolExecutor(max_workers=max(1, len(dealt)), thread_name_prefix="lane") as pool:
                lanes = [pool.submit(self._lane, number, steps) for number, steps in enumerate(dealt)]
                try:
                    for lane in lanes:
                        lane.result()
                except BaseException:
                    self.stop.set()
                    raise
        finally:
            finished.set()
            reporter.join()
        return sorted(self.results, key=lambda one: one.number)

    def _lane(self, number: int, steps: Sequence[Step]) -> None:
        """A failed run may have left anything: the next one gets a new sandbox."""
        left = list(steps)
        for attempt in itertools.count():
            if not left or self.stop.is_set():
                return
            folder = self.options.folder / f"lane-{number}-{attempt}"
            name = f"{self.options.name}{number}"
            opened = False
            try:
                members = self.options.server.members
                clients = members if members > 1 else 0
                ground = Ground(name, self._subnet(number), self.options.servers, clients)
                with open_lane(number, ground, folder, self.options.official, self.options.server) as lane:
                    opened, lane.without = True, self.options.without
                    self.options.say(f"lane {number}: the sandbox {name} is up, {len(left)} runs to go")
                    self._until_one_fails(lane, left)
            except Exception as error:  # a lane that does not come up or go down ends no other run
                if opened:
                    self._blame(number, f"{name} did not go down: {error}")
                else:
                    self._keep(self._result(left.pop(0), number, f"the sandbox did not come up: {error}"))
            remains = {kind: found for kind, found in traces(name, folder / "project/.sandbox").items() if found}
            if remains:
                self._blame(number, f"after `down --force` of {name} there is still: {remains}")
            shutil.rmtree(folder, ignore_errors=True)

    def _until_one_fails(self, lane: Lane, left: list[Step]) -> None:
        while left and not self.stop.is_set():
            step = left.pop(0)
            self._busy[lane.number] = (f"run {step.number} ({step.fault.name})", lane)
            result = self._result(step, lane.number)
            try:
                run_step(lane, step, result)
            finally:
                self._busy.pop(lane.number, None)
            self._keep(result, lane)
            if result.failed:
                return

    def _result(self, step: Step, lane: int, *problems: str) -> Result:
        repeat = self.options.repeat(step)
        return Result(
            step.number,
            step.fault.name,
            step.fault.family,
            self.options.server.title,
            lane=lane,
            problems=list(problems),
            repeat=repeat,
        )

    def _keep(self, result: Result, lane: Lane | None = None) -> None:
        if result.failed and lane is not None:
            folder = keep_logs(lane, self.options.kept / f"run-{result.number}")
            (folder / "problems.txt").write_text("\n".join([*result.problems, *result.orphans]), encoding="utf-8")
            result.kept = str(folder)
        self.results.append(result)
        self._report_result(result)
        verdict = "FAILED" if result.failed else "ok"
        self.options.say(
            f"lane {result.lane}: run {result.number} ({len(self.results)} of {len(self.steps)} done) "
            f"{result.fault}: {verdict}, {result.seconds:.0f} s, recovered in {result.recovery_s:.1f} s, "
            f"{result.acknowledged} rows; {result.paused}{result.seen or '; '.join(result.problems)[:300]}"
        )

    def _blame(self, lane: int, problem: str) -> None:
        mine = [one for one in self.results if one.lane == lane]
        if mine:
            mine[-1].problems.append(problem)
            self._report_result(mine[-1])

    def _report_result(self, result: Result) -> None:
        with self._reporting:
            self.options.report(result)

    def _subnet(self, lane: int) -> IPv4Network:
        first = self.options.subnet
        return IPv4Network((int(first.network_address) + lane * first.num_addresses, first.prefixlen))

    def _report(self, finished: threading.Event) -> None:
        while not finished.wait(_REPORT_EVERY_S):
            for number, (what, lane) in sorted(self._busy.items()):
                self.options.say(f"lane {number}: {what}: {waiting(lane.doing)}")


def run_step(lane: Lane, step: Step, result: Result) -> None:
    """One run with its checks; what it showed goes into the result, and nothing is raised."""
    began, rows, samples, doubled = (
        time.monotonic(),
        lane.writer.total,
        lane.mounts.samples,
        len(lane.mounts.violations),
    )
    calls = Calls(lane.call_log)
    try:
        bring(lane, step.fault.needs)
        lane.doing = Doing(step.fault.name)
        lane.injected_at = time.monotonic()
        with _pauses(lane, step, result):
            result.seen = step.fault.run(lane, step.random())
            lane.state = step.fault.leaves
            (_check_deployed if lane.state == "deployed" else _check_empty)(lane, result)
    except (
        Exception
    ) as error:  # whatever it is (AWS, Nomad, the database, a process): the run failed, and the next one has its turn
        result.problems += [f"{type(error).__name__}: {error}", *_judged(lane)]
    result.problems += lane.problems
    lane.problems.clear()
    result.seconds = time.monotonic() - began
    result.acknowledged = lane.writer.total - rows
    result.problems += [str(violation) for violation in lane.mounts.violations[doubled:]]
    result.detached = detached_while_mounted(calls.read())
    if not step.fault.may_detach_mounted:
        result.problems += result.detached
    if lane.mounts.samples == samples:
        result.problems.append("the watch on the mounts has stopped")


def _judged(lane: Lane) -> list[str]:
    """What the judge says after a run that has failed; nothing where the database does not answer any more."""
    with contextlib.suppress(AssertionError):
        return lane.writer.contradictions()
    return []


@contextlib.contextmanager
def _pauses(lane: Lane, step: Step, result: Result) -> Iterator[None]:
    """Measures the writer's pauses of a fault that has a target for them."""
    if not step.fault.target_s:
        yield
        return
    pauses = Pauses(lane.writer)
    try:
        with pauses:
            yield
    finally:
        result.target_s, result.pauses = step.fault.target_s, pauses.spread(lane.injected_at)


def bring(lane: Lane, state: State) -> None:
    """Brings the stack into a state, undisturbed, with a writer that waits for or writes to what comes."""
    if state == "empty" and lane.state == "deployed":
        lane.writer.end()
        began = time.monotonic()
        ended_well(lane.destroy())
        lane.typical_s["destroy"] = time.monotonic() - began
    lane.writer.begin()
    if state == "deployed" and lane.state == "empty":
        ended_well(lane.up())
        lane.await_writes()
    lane.state = state


def _check_deployed(lane: Lane, result: Result) -> None:
    lane.writer.begin()
    lane.await_writes()
    result.recovery_s = time.monotonic() - lane.injected_at
    result.lost = sorted(lane.writer.lost())
    result.problems += [problem for problem in [checks.not_converged(lane)] if problem]
    result.problems += lane.writer.contradictions()
    result.orphans = checks.orphans(lane)
    if not lane.mounts.seen:
        result.problems.append("the watch on the mounts saw no volume mounted")


def _check_empty(lane: Lane, result: Result) -> None:
    lane.writer.end()
    result.problems += lane.writer.contradictions()
    result.orphans = checks.leftovers(lane)
    result.recovery_s = time.monotonic() - lane.injected_at


def waiting(doing: Doing) -> str:
    """What a lane waits for, since when, and what would end it."""
    ends = f"; it gives up after {doing.timeout_s:.0f} s" if doing.timeout_s else ""
    return f"since {time.monotonic() - doing.since:.0f} s waiting: {doing.what}{ends}"


def keep_logs(lane: Lane, target: Path) -> Path:
    """Copies what tells about a failed run to a folder, which it gives."""
    target.mkdir(parents=True, exist_ok=True)
    for name, source in (
        ("sandbox", lane.stack.project / ".sandbox/log"),
        ("commands", lane.logs),
        ("histories", lane.histories),
    ):
        if source.is_dir():
            shutil.copytree(source, target / name, dirs_exist_ok=True)
    instances = lane.stack.project / ".sandbox/ec2/instances"
    for log in instances.glob("*/disk/nomad/alloc/*/alloc/logs/*.std*"):
        folder = target / "allocations" / log.parents[2].name
        folder.mkdir(parents=True, exist_ok=True)
        # Beside the logs are the pipes that they come by.
        if log.is_file():
            shutil.copy(log, folder)
    try:
        text = lane.stack.diagnosis()
    except (OSError, subprocess.SubprocessError) as error:
        text = f"no diagnosis: {error}"
    (target / "diagnosis.txt").write_text(text, encoding="utf-8")
    return target
