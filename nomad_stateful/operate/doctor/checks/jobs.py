"""The stack's jobs: in Nomad, and not stopped."""

from collections.abc import Iterator

from nomad_stateful.nomad.paths import job_path
from nomad_stateful.operate.doctor.facts import Facts, NotChecked
from nomad_stateful.operate.doctor.finding import Finding, problem

_PAGE = "docs/runbook.md"


def deployed(facts: Facts) -> Iterator[Finding]:
    """Every job that the stack has deployed is in Nomad, and nobody has stopped it."""
    if not facts.jobs():
        raise NotChecked("the stack has deployed no job yet")
    for job_id, namespace in facts.jobs():
        path = job_path(job_id)
        job = facts.once(f"{namespace}/{path}", lambda: facts.nomad().find(path, namespace=namespace))  # noqa: B023
        if job is None or job.get("Stop"):
            what = f"job {job_id} is {'not in Nomad' if job is None else 'stopped'} (namespace {namespace})"
            why = "nothing starts it automatically; without a plugin's job no volume is attached or mounted"
            yield problem(what, why, "pulumi up --refresh", _PAGE)
