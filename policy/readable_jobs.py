"""Says which jobs the other rules could not look at."""

from collections.abc import Iterable

from pulumi_policy import EnforcementLevel

from nomad_stateful.resource_types import NOMAD_JOB
from policy.nomad_job import UnreadableJobError, read
from policy.resource import Resource
from policy.rule import Config, ResourceRule


def check_readable(resource: Resource, _config: Config) -> Iterable[str]:
    """A job that cannot be read is not held against anybody by the rules about jobs, but it is not passed over."""
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
        remedy="have the `nomad` command on PATH; a job with values known only later is checked by `pulumi up` before "
        "it is submitted.",
        level=EnforcementLevel.ADVISORY,
        check=check_readable,
    )
]
