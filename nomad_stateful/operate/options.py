"""Options that commands share."""

import math
import re
from argparse import ArgumentParser, ArgumentTypeError

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_MOST_S = 86_400


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
