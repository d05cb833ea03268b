"""Rules: a single-writer volume is claimed by one allocation at a time."""

from collections.abc import Iterable, Mapping
from typing import Any

from nomad_stateful.nomad.job_rendering import Job
from policy.nomad_job import csi_claims, groups, job_of, size
from policy.resource import Resource
from policy.rule import Config, ResourceRule

SINGLE_WRITER = "single-node-writer"


def check_writers(resource: Resource, _config: Config) -> Iterable[str]:
    """Yields groups with a second instance or a canary, which would wait for the volume until the deployment fails."""
    job = job_of(resource)
    for group in groups(job) if job else ():
        claimed = [
            claim["Source"]
            for claim in csi_claims(group)
            if claim.get("AccessMode") == SINGLE_WRITER and not claim.get("PerAlloc")
        ]
        if job and claimed:
            volumes = ", ".join(claimed)
            for problem in _problems(job, group):
                yield f'group "{group["Name"]}" {problem}, and claims {volumes} as {SINGLE_WRITER}'


def _problems(job: Job, group: Mapping[str, Any]) -> Iterable[str]:
    count = size(job, group)
    if count is None:
        yield f"runs on every client (type {job['Type']})"
    elif count > 1:
        yield f"has count {count}"
    canary = _canary(job, group)
    if canary:
        yield f"has canary {canary}"


def _canary(job: Job, group: Mapping[str, Any]) -> int:
    """Returns the group's own value, else the job's."""
    for update in (group.get("Update") or {}, job.get("Update") or {}):
        if update.get("Canary") is not None:
            return int(update["Canary"])
    return 0


RULES = [
    ResourceRule(
        name="single-writer",
        sentence="A job that claims a CSI volume with a single writer has count 1 and canary 0.",
        remedy="set `count = 1` and `canary = 0`, give each instance a volume with `per_alloc`, or use an access mode "
        "with several writers if driver and program support it.",
        check=check_writers,
    )
]
