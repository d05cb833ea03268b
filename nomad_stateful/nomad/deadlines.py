"""How long Nomad waits for an allocation of a job's new version."""

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
