"""A schedule on a lane: what is promised holds after each step."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from nomad_stateful.nomad import clients
from tools.faults import checks
from tools.faults.api_faults import repeated
from tools.faults.cases.drain import node_command
from tools.faults.lane import CLIENTS, Lane
from tools.faults.model import Fault
from tools.faults.runner import bring
from tools.faults.schedules.actions import COMMANDS
from tools.faults.schedules.model import Act, Schedule, Step
from tools.faults.schedules.zones import Leftovers, bring_home, end_move
from tools.trial.running import ended_well


@dataclass
class Play:
    """One schedule, as the runner of faults runs it."""

    schedule: Schedule
    actions: Mapping[str, Fault]
    reached: int = 0
    """The number of the step that was begun last."""
    counts: Counter[str] = field(default_factory=Counter)
    """What the judge read of it: operations by outcome, and reads."""

    def fault(self) -> Fault:
        """The schedule as one fault."""
        acts = [self.actions[act.name] for step in self.schedule.steps for act in step.acts]
        return Fault(
            str(self.schedule),
            "schedules",
            self.run,
            needs=acts[0].needs,
            leaves=acts[-1].leaves,
            may_detach_mounted="; ".join(filter(None, (action.may_detach_mounted for action in acts))),
            seconds=sum(action.seconds for action in acts),
        )

    def run(self, lane: Lane, _draw: random.Random) -> str:
        """Every step; what was seen of each. AssertionError names the step whose promise is broken."""
        told: list[str] = []
        left, before = Leftovers(lane), _counts(lane)
        try:
            for number, step in enumerate(self.schedule.steps, start=1):
                self.reached = number
                try:
                    told.append(self._step(lane, step, left))
                except Exception as error:
                    raise AssertionError("; ".join([*told, f"step {number}, {step}: {error}"])) from error
        finally:
            self.counts = _counts(lane) - before
        return "; ".join(told)

    def _step(self, lane: Lane, step: Step, left: Leftovers) -> str:
        first = self.actions[step.acts[0].name]
        bring(lane, first.needs)
        if len(step.acts) == 1:
            seen = first.run(lane, _draw(step.acts[0]))
            lane.state = first.leaves
        else:
            seen = self._both(lane, step)
        if lane.state == "deployed":
            _in_order(lane, left)
        else:
            lane.writer.end()
        problems = lane.writer.contradictions()
        if lane.state == "empty":
            problems += checks.leftovers(lane)
        assert not problems, "\n".join(problems)
        return seen

    def _both(self, lane: Lane, step: Step) -> str:
        """Two at once: what either of them does not do for the other's sake is no broken promise."""
        with ThreadPoolExecutor(2) as pool:
            begun = [pool.submit(self._tried, lane, act, at * step.later_s) for at, act in enumerate(step.acts)]
            ended = [one.result() for one in begun]
        settle(lane)
        told = []
        for act, (done, said) in zip(step.acts, ended, strict=True):
            action = self.actions[act.name]
            again = f", again: {action.run(lane, _draw(act))}" if not done and action.family == COMMANDS else ""
            told.append(f"{act.name}: {said}{again}")
        return " + ".join(told)

    def _tried(self, lane: Lane, act: Act, later_s: float) -> tuple[bool, str]:
        threading.Event().wait(later_s)
        try:
            return True, self.actions[act.name].run(lane, _draw(act))
        except Exception as error:
            lines = [line for line in str(error).splitlines() if "error: " in line] or str(error).splitlines() or [""]
            return False, f"gave up ({lines[0].strip()[:160]})"


def settle(lane: Lane) -> None:
    """Whatever was broken, and not repaired by who broke it: repaired as its operator does."""
    lane.stack.ctl("fault", "off")
    for client in CLIENTS:
        lane.stack.try_ctl("heal", client)
    ended_well(lane.stack.sandbox(*lane.up_words, "--no-stack"))
    for found in clients.listed(lane.stack.nomad):
        if found.state in {"draining", "ineligible"}:
            node_command(lane, "drain", "-disable", "-yes", found.id)
            node_command(lane, "eligibility", "-enable", found.id)
    lane.await_plugins()
    # What no node plugin has unmounted, nobody releases.
    lane.operate("recover", lane.server.volume, "--yes", "--fence")
    ended_well(lane.stack.sandbox(*lane.up_words, "--no-stack"))
    lane.writer.begin()
    end_move(lane)
    repeated(lane.up)
    # What filled the disk through the database.
    lane.stack.sql(lane.stack.server_endpoint(), lane.sql.drop_schema.format("bulk"))
    lane.await_plugins()
    lane.await_writes()


def _in_order(lane: Lane, left: Leftovers) -> None:
    """The database at home, taking writes, and nothing left of what commands leave to their operator."""
    bring_home(lane)
    lane.writer.begin()
    lane.await_writes()
    lane.writer.moved()
    left.delete()


def _draw(act: Act) -> random.Random:
    return random.Random(f"{act.seed}/{act.name}")


def _counts(lane: Lane) -> Counter[str]:
    return sum((verdict.counts for verdict in lane.writer.verdicts.values()), Counter())
