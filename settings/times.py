"""Times that Nomad refuses, as `nomad job validate` says, so that they are told before anything is made."""

import re

from settings.errors import Refusal

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_LEAST_RESTART_INTERVAL_S = 5
_LEAST_CHECK_S = 1


def seconds(duration: str) -> float:
    """A duration such as 1m30s in seconds."""
    return sum(int(number) * _UNITS[unit] for number, unit in re.findall(r"(\d+)(ms|s|m|h)", duration))


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
