"""Rules: jobs can be read by the other rules."""

from collections.abc import Iterable

from pulumi_policy import EnforcementLevel

from nomad_stateful.resource_types import NOMAD_JOB
from policy.nomad_job import UnreadableJobError, read
from policy.resource import Resource
from policy.rule import Config, ResourceRule


def check_readable(resource: Resource, _config: Config) -> Iterable[str]:
    """Yields a job that cannot be read, on which the rules about jobs find nothing."""
    if resource.type != NOMAD_JOB:
        return
    try:
        read(resource.props)
    except UnreadableJobError as reason:
        yield f"its job file was not checked: {reason}"


RULES = [
    ResourceRule(
        name="job-readable",
        sentence="Job files can be read by the rules about jobs.",
        remedy="install the `nomad` command on PATH; `pulumi up` checks a job with values unknown at preview before "
        "it is submitted.",
        level=EnforcementLevel.ADVISORY,
        check=check_readable,
    )
]
