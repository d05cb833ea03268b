"""Reads job files with the nomad command line, which needs no server for it."""

import shutil
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from nomad_stateful.nomad.job_rendering import Job, RenderError, render
from nomad_stateful.resource_types import NOMAD_JOB
from policy.resource import Resource, has_unknown


class UnreadableJobError(Exception):
    """A job cannot be read."""


def job_of(resource: Resource) -> Job | None:
    """Returns the job of a Job resource; None when it is not one or cannot be read, which `job-readable` reports."""
    if resource.type != NOMAD_JOB:
        return None
    try:
        return read(resource.props)
    except UnreadableJobError:
        return None


def read(props: Mapping[str, Any]) -> Job:
    """The job in the properties of a Job resource; raises UnreadableJobError."""
    variables = (props.get("hcl2") or {}) if isinstance(props.get("hcl2"), Mapping) else props.get("hcl2")
    variables = (variables.get("vars") or {}) if isinstance(variables, Mapping) else variables or {}
    named = variables if isinstance(variables, Mapping) else {"": variables}
    values = {"jobspec": props.get("jobspec"), **{f"hcl2.vars.{name}": value for name, value in named.items()}}
    unknown = [name.rstrip(".") for name, value in values.items() if has_unknown(value)]
    if unknown:
        raise UnreadableJobError(f"{', '.join(unknown)} will be known during the update, which checks the job then")
    known = tuple(sorted((str(name), str(value)) for name, value in named.items()))
    return _parsed(str(props.get("jobspec") or ""), bool(props.get("json")), known)


def groups(job: Job) -> Iterator[dict[str, Any]]:
    """Yields the job's groups."""
    yield from job.get("TaskGroups") or ()


def tasks(job: Job) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yields each task with its group."""
    for group in groups(job):
        for task in group.get("Tasks") or ():
            yield group, task


def csi_claims(group: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns the CSI volumes that a group claims."""
    return [claim for claim in (group.get("Volumes") or {}).values() if claim.get("Type") == "csi"]


def size(job: Job, group: Mapping[str, Any]) -> int | None:
    """Returns how many instances of a group run; None when it is one on each client."""
    if job.get("Type") in ("system", "sysbatch"):
        return None
    count = group.get("Count")
    return 1 if count is None else int(count)


# Several rules look at the same job.
@lru_cache(maxsize=64)
def _parsed(text: str, is_json: bool, variables: tuple[tuple[str, str], ...]) -> Job:
    nomad = shutil.which("nomad")
    if nomad is None:
        raise UnreadableJobError("the nomad command is not on PATH: install Nomad, whose command line reads job files")
    try:
        return render(nomad, text, dict(variables), *(["-json"] if is_json else []))
    except RenderError as error:
        raise UnreadableJobError(" ".join(str(error).split())) from None
    except ValueError:
        raise UnreadableJobError("a variable holds a null character") from None
