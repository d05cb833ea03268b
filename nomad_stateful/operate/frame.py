"""What a command is, what commands share, and the frame of one that changes something: plan, question, turn, result."""

import json
import math
import re
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.operate import clocks, ownership
from nomad_stateful.operate.cluster import connect
from nomad_stateful.operate.engine import Engine
from nomad_stateful.operate.errors import OperateError
from nomad_stateful.operate.exclusive import exclusive
from nomad_stateful.operate.ownership import stack_cluster

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_MOST_S = 86_400


def no_arguments(_parser: ArgumentParser) -> None:
    """Adds no arguments."""


def acts_unless_dry(known: Namespace) -> bool:
    """For commands that change something, but for their dry run."""
    return not getattr(known, "dry_run", False)


@dataclass(frozen=True)
class Checks:
    """What the frame checks for a command before it changes anything: empty, or why the frame does not."""

    turn: str = ""
    """That no other command changes the stack."""
    pulumi: str = ""
    """That no other `pulumi` has the stack's lock."""
    cluster: str = ""
    """That the Nomad cluster has the stack's volumes, or the one that the command is about."""
    clock: str = "compares no times"
    """That this machine's clock is the Nomad server's; else it warns."""


ALL_CHECKS = Checks()


@dataclass(frozen=True)
class Command:
    """One word of `nomad-stateful`."""

    name: str
    """The word."""
    text: str
    """What it does, for the list of commands."""
    run: Callable[[Namespace], None]
    """Does it, with the arguments."""
    arguments: Callable[[ArgumentParser], None] = no_arguments
    """Adds the arguments."""
    acts: Callable[[Namespace], bool] = acts_unless_dry
    """Whether it may change something: then the stack has to be named where there are several."""
    checks: Checks | None = None
    """What the frame checks for it; None where it runs outside of the frame, since it changes nothing of the stack."""
    has_stack: bool = True
    """Whether it works on a stack that is there."""


def reads_only(_known: Namespace) -> bool:
    """For commands that change nothing."""
    return False


def add_change_options(parser: ArgumentParser, yes: str = "do not ask") -> None:
    """Adds what every command takes that changes something by a plan; `yes` is what that answer means, if anything."""
    parser.add_argument("--dry-run", action="store_true", help="print the plan and change nothing")
    if yes:
        parser.add_argument("--yes", action="store_true", help=yes)
    parser.add_argument("--json", action="store_true", help="print an object for scripts: the result, or the plan")


def duration_s(given: str) -> float:
    """Returns a duration such as 90s, 10m or 1h in seconds. Raises ArgumentTypeError."""
    seconds = _seconds(given, "smh")
    if seconds is None or not 1 <= seconds <= _MOST_S:
        raise ArgumentTypeError(f"{given} must be a time such as 90s, 10m or 1h, at most a day")
    return seconds


def age_s(given: str) -> float:
    """Returns an age such as 90m, 26h or 7d in seconds. Raises ArgumentTypeError."""
    seconds = _seconds(given, "smhd")
    if seconds is None:
        raise ArgumentTypeError(f"{given} is not an age: write a number and s, m, h or d, such as 26h")
    return seconds


def _seconds(given: str, units: str) -> float | None:
    """Returns a number of one unit in seconds; None for anything else."""
    found = re.fullmatch(rf"(\d+)([{units}])", given)
    return float(int(found[1]) * _UNITS[found[2]]) if found else None


def at_least_0(given: str) -> float:
    """Returns a number. Raises ArgumentTypeError for one that is negative, infinite or none."""
    try:
        number = float(given)
    except ValueError:
        number = math.nan
    if not 0 <= number < math.inf:
        raise ArgumentTypeError(f"{given} must be a number, 0 or more")
    return number


class NotConfirmedError(OperateError):
    """Nobody said yes; nothing was changed."""


@dataclass(frozen=True)
class Frame:
    """One run of a command."""

    command: str
    yes: bool
    """Whether the question is answered already."""
    dry_run: bool = False
    as_json: bool = False
    checks: Checks = ALL_CHECKS

    def agree(
        self,
        question: str,
        plan: str = "",
        preview: Mapping[str, Any] | None = None,
        *,
        needed: bool = True,
    ) -> bool:
        """Says the plan on standard error, and asks. Raises NotConfirmedError.

        Returns whether to act: not on a dry run, nor where nothing needs it. Then the preview is the result.
        """
        if plan:
            print(plan, file=sys.stderr, flush=True)
        if self.dry_run or not needed:
            self.tell(preview or {}, "nothing was changed" if needed else "nothing to do")
            return False
        confirm(question, yes=self.yes)
        return True

    @contextmanager
    def cluster(self, volume: str = "", *, operator: bool = True) -> Iterator[NomadApi]:
        """A connection to the stack's cluster, checked to be that; with `volume` by this one alone.

        Raises WrongClusterError.
        """
        by_volume = bool(volume) and not self.checks.cluster
        with closing(stack_cluster(volume) if by_volume else connect(operator=operator)) as nomad:
            if not by_volume and not self.checks.cluster:
                ownership.required(nomad)
            if not self.checks.clock:
                clocks.warn(nomad)
            yield nomad

    @contextmanager
    def turn(self, nomad: NomadApi, subject: str, engine: Engine | None = None) -> Iterator[Callable[[], None]]:
        """A context in which no other command changes the stack; gives what raises BusyError where one does after all.

        With its engine, no other pulumi may have its lock either. Raises BusyError, StackLockedError and ProviderError.
        """
        if self.checks.turn:
            yield lambda: None
            return
        with exclusive(nomad, f"{self.command} {subject}".strip()) as refuse_lost:
            if engine is not None and not self.checks.pulumi:
                engine.refuse_locked()
            yield refuse_lost

    def tell(self, result: Mapping[str, Any], text: str = "") -> None:
        """Prints the result, for scripts or for people."""
        if self.as_json or text:
            print(json.dumps(result, indent=2) if self.as_json else text, flush=True)


@contextmanager
def interruptible(resume: Callable[[], str]) -> Iterator[None]:
    """A context whose interruption is told with what it leaves, and how to resume. Raises OperateError."""
    try:
        yield
    except KeyboardInterrupt:
        raise OperateError(f"interrupted: {resume()}") from None


def confirm(question: str, *, yes: bool) -> None:
    """Asks on the terminal, unless `yes` says it already. Raises NotConfirmedError."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise NotConfirmedError(f"{question} There is no terminal to answer on: add --yes. Nothing was changed")
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise NotConfirmedError("nothing was changed")


def framed(
    name: str,
    text: str,
    act: Callable[[Frame, Namespace], None],
    arguments: Callable[[ArgumentParser], None] = no_arguments,
    *,
    checks: Checks = ALL_CHECKS,
    acts: Callable[[Namespace], bool] = acts_unless_dry,
    answered: Callable[[Namespace], bool] = lambda known: bool(known.yes),
) -> Command:
    """Returns a command that runs in the frame; `answered` says whether its options answer the question already."""

    def run(known: Namespace) -> None:
        given = {"dry_run": getattr(known, "dry_run", False), "as_json": getattr(known, "json", False)}
        act(Frame(name, answered(known), **given, checks=checks), known)

    return Command(name, text, run, arguments, acts, checks)
