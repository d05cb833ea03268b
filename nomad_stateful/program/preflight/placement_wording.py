"""What Nomad's scheduler counted, in words."""

from collections.abc import Mapping, Sequence
from typing import Any

from nomad_stateful.nomad.fingerprint import ZONE_REFERENCE
from nomad_stateful.program.plan.model import Job, Part
from nomad_stateful.program.settings import Problem
from nomad_stateful.sdk import ClusterNode

_PRIVILEGED = "${attr.driver.docker.privileged.enabled} = true"
_FOLDERS = "${attr.driver.docker.volumes.enabled} = true"
_DISTINCT = "distinct_hosts"
# Nomad judges clients that are alike together.
_ALIKE = "computed class ineligible"
_WORDS = {
    _PRIVILEGED: "whose docker driver allows no privileged containers",
    _FOLDERS: "whose docker driver lets containers mount none of the client's folders",
    _DISTINCT: "that have another of its instances (distinct_hosts)",
    _ALIKE: "like these",
}
_IN_DOCKER = 'in the client\'s plugin "docker" block and restart the client'
_REMEDIES = {
    _PRIVILEGED: f"set allow_privileged = true {_IN_DOCKER}",
    _FOLDERS: f"set volumes {{ enabled = true }} {_IN_DOCKER}",
    _DISTINCT: "start more clients, or ask for fewer instances",
}


def is_like_another(failure: Mapping[str, Any]) -> bool:
    """Returns whether nothing is said of a part but that another one's reasons hold for it."""
    return set(failure["unfit"]) == {_ALIKE} and not failure["full"]


def problem(job: Job, part: Part, failure: Mapping[str, Any], away: Sequence[ClusterNode]) -> Problem:
    """Returns why no client can run a part of a job."""
    return Problem(job.key, job.value, _rule(job, part, failure, away), _remedy(failure, away))


def warning(job: Job, part: Part, failure: Mapping[str, Any], away: Sequence[ClusterNode]) -> str:
    """Returns the same for what may pass: a client that is away, or has no room just now."""
    return f"{job.key} is {job.value}: just now {_rule(job, part, failure, away)}."


def _rule(job: Job, part: Part, failure: Mapping[str, Any], away: Sequence[ClusterNode]) -> str:
    count, missing, clients = part.count, int(failure["missing"]), int(failure["clients"])
    which = "it" if count == 1 else f"{missing} of its {count} instances"
    unfit = sorted(failure["unfit"].items(), key=lambda item: (item[0] == _ALIKE, item[0]))
    counted = [f"{int(number)} {_unfit(text, job)}" for text, number in unfit]
    counted += [f"{int(number)} without room ({text})" for text, number in sorted(failure["full"].items())]
    looked_at = f"{clients} ready client{'' if clients == 1 else 's'} in node pool {job.pool}: "
    found = looked_at + ", ".join(counted) if counted else f"none is ready and eligible in node pool {job.pool}"
    states = ", ".join(f"{node.name} is {_state(node)}" for node in away)
    return f"no client{part.where} can run {which} (job {job.job_id}); {found}" + (f"; {states}" if states else "")


def _unfit(constraint: str, job: Job) -> str:
    if constraint == "missing drivers":
        return f"without a healthy task driver {job.driver}"
    attribute, _, value = constraint.partition(" = ")
    if attribute == ZONE_REFERENCE:
        return f"not in {value}"
    return _WORDS.get(constraint, f"without {constraint}")


def _state(node: ClusterNode) -> str:
    return node.eligibility if node.status == "ready" else node.status


def _remedy(failure: Mapping[str, Any], away: Sequence[ClusterNode]) -> str:
    found = [remedy for constraint, remedy in _REMEDIES.items() if constraint in failure["unfit"]]
    if away:
        names = ", ".join(node.name for node in away)
        found.append(f"bring {names} back (`nomad node eligibility -enable` where it is ineligible)")
    return "; or ".join(found) or "start a client that has what is missing, or ask for less"
