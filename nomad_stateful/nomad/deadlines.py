"""Durations as Nomad has them, and how long it waits for an allocation of a job's new version."""

import re

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}

_LEAST_S = 300
_PROGRESS_S = 60
"""Nomad wants the second deadline to be longer than the first."""


def healthy_deadline_s(timeout_s: int) -> int:
    """Returns the seconds an allocation has to become healthy, as it never is afterwards: at least those of an `up`.

    An `up` that gave up sooner still finds a server that came later healthy.
    """
    return max(timeout_s, _LEAST_S)


def progress_deadline_s(timeout_s: int) -> int:
    """Returns the seconds that the job's deployment may make no progress."""
    return healthy_deadline_s(timeout_s) + _PROGRESS_S


def seconds(duration: str) -> float:
    """Returns a duration such as 1m30s in seconds; 0 for what is none."""
    return sum(float(number) * _UNITS[unit] for number, unit in re.findall(r"([\d.]+)(ms|s|m|h)", duration))
