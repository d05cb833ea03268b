"""Times that Nomad refuses, as `nomad job validate` says, so that they are told before anything is made."""

import re

from program.settings.errors import Refusal

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_LEAST_RESTART_INTERVAL_S = 5
_LEAST_CHECK_S = 1
_LEAST_DEADLINE_S = 300
_PROGRESS_S = 60
LONGEST = "8760h"
"""A year. Nomad counts nanoseconds, which overflow after 292 years."""


def seconds(duration: str) -> float:
    """A duration such as 1m30s in seconds."""
    return sum(int(number) * _UNITS[unit] for number, unit in re.findall(r"(\d+)(ms|s|m|h)", duration))


def check_length(duration: str) -> str:
    """Returns a duration; raises Refusal for one that is longer than a year."""
    if seconds(duration) > seconds(LONGEST):
        raise Refusal("", duration, f"must be at most {LONGEST}, a year", "shorten it")
    return duration


def check_kill_timeout(kill_timeout: str, timeout_s: int) -> None:
    """A deployment waits longer than a task may take to end, as Nomad wants it."""
    longest_s = deployment_s(timeout_s)
    if seconds(kill_timeout) > longest_s:
        raise Refusal(
            "killTimeout",
            kill_timeout,
            f"Nomad wants it to be no longer than a deployment may take, {longest_s}s with this timeoutS",
            f"lower it, or set timeoutS to {seconds(kill_timeout):.0f}",
        )


def deployment_s(timeout_s: int) -> int:
    """How long a job's deployment may make no progress, in seconds: as the components have it."""
    return max(timeout_s, _LEAST_DEADLINE_S) + _PROGRESS_S


def check_restart(attempts: int, interval: str, delay: str) -> None:
    """As many restarts as are allowed fit into their interval."""
    if seconds(interval) < _LEAST_RESTART_INTERVAL_S:
        raise Refusal("restartInterval", interval, f"Nomad wants {_LEAST_RESTART_INTERVAL_S}s or more", "raise it")
    if attempts * seconds(delay) > seconds(interval):
        raise Refusal(
            "restartDelay",
            delay,
            f"{attempts} restarts with this pause do not fit into restartInterval, which is {interval}",
            f"lower restartAttempts or restartDelay, or raise restartInterval to {attempts * seconds(delay):.0f}s",
        )


def check_checks(interval: str, timeout: str) -> None:
    """A service is not checked more often than Nomad does it."""
    for key, value in (("checkInterval", interval), ("checkTimeout", timeout)):
        if seconds(value) < _LEAST_CHECK_S:
            raise Refusal(key, value, f"Nomad wants {_LEAST_CHECK_S}s or more", "raise it")
