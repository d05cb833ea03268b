"""What the command line knows of a command, which each module of a command declares, and options that they share."""

import math
import re
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable
from dataclasses import dataclass

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
