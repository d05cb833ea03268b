"""Times that `nomad job validate` refuses, refused before anything is created."""

from nomad_stateful.nomad.deadlines import progress_deadline_s, seconds
from nomad_stateful.program.settings.errors import Refusal

_LEAST_RESTART_INTERVAL_S = 5
_LEAST_CHECK_S = 1
_LEAST_DISCONNECT_S = 20
LONGEST = "8760h"
"""A year. Nomad counts nanoseconds, which overflow after 292 years."""


def check_length(duration: str) -> str:
    """Returns a duration; raises Refusal for one that is longer than a year."""
    if seconds(duration) > seconds(LONGEST):
        raise Refusal("", duration, f"must be at most {LONGEST}, a year", "shorten it")
    return duration


def check_disconnect(time: str) -> str:
    """Returns how long a client may be cut off; raises Refusal for less than it waits between two heartbeats.

    https://developer.hashicorp.com/nomad/docs/configuration/server#heartbeat_grace
    """
    if seconds(time) < _LEAST_DISCONNECT_S:
        rule = (
            f"must be at least {_LEAST_DISCONNECT_S}s: clients hear from the servers every 10 to 20 s, and one that is "
            "not cut off at all would stop it for good"
        )
        raise Refusal("", time, rule, f"set it to {_LEAST_DISCONNECT_S}s or more")
    return check_length(time)


def check_kill_timeout(kill_timeout: str, timeout_s: int) -> None:
    """Raises Refusal where a task may take longer to end than a deployment may."""
    longest_s = progress_deadline_s(timeout_s)
    if seconds(kill_timeout) > longest_s:
        rule = f"must not be longer than a deployment may take, {longest_s}s with this timeoutS"
        raise Refusal("killTimeout", kill_timeout, rule, f"lower it, or set timeoutS to {seconds(kill_timeout):.0f}")


def check_restart(attempts: int, interval: str, delay: str) -> None:
    """Raises Refusal where the restarts that are allowed do not fit into their interval."""
    if seconds(interval) < _LEAST_RESTART_INTERVAL_S:
        raise Refusal("restartInterval", interval, f"must be at least {_LEAST_RESTART_INTERVAL_S}s", "raise it")
    if attempts * seconds(delay) > seconds(interval):
        rule = f"{attempts} restarts with this pause do not fit into restartInterval, which is {interval}"
        remedy = f"lower restartAttempts or restartDelay, or raise restartInterval to {attempts * seconds(delay):.0f}s"
        raise Refusal("restartDelay", delay, rule, remedy)


def check_checks(interval: str, timeout: str) -> None:
    """Raises Refusal for checks that are more frequent than Nomad allows."""
    for key, value in (("checkInterval", interval), ("checkTimeout", timeout)):
        if seconds(value) < _LEAST_CHECK_S:
            raise Refusal(key, value, f"must be at least {_LEAST_CHECK_S}s", "raise it")
