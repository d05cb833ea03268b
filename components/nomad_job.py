"""A Nomad job from one of the job files: what all components that submit jobs have in common."""

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi
import pulumi_nomad as nomad

from nomad_stateful import jobspec as jobs


def submit(
    name: str,
    spec: str,
    variables: Mapping[str, Any],
    parent: pulumi.Resource,
    depends_on: Sequence[pulumi.Resource] = (),
    *,
    purge: bool = True,
) -> nomad.Job:
    """Submits a job file with its variables, which may be outputs; the variable `job` holds its id and namespace."""
    values = pulumi.Output.all(**variables)
    return nomad.Job(
        name,
        # Of all the values: the plugin parses a text that is known, also while a variable still is unknown.
        jobspec=values.apply(lambda known: jobs.spec(spec, known)),
        hcl2=nomad.JobHcl2Args(
            vars={key: pulumi.Output.from_input(value).apply(jobs.hcl_value) for key, value in variables.items()}
        ),
        purge_on_destroy=purge,
        # A job that somebody stopped by hand comes back with the next refresh and up.
        rerun_if_dead=True,
        opts=pulumi.ResourceOptions(
            parent=parent,
            depends_on=list(depends_on),
            # Under another id or namespace it wants the same volumes and ports; and what is deleted afterwards could,
            # on the way back, be what was made again.
            delete_before_replace=True,
        ),
    )


def private_variable(
    name: str,
    job: tuple[str, str],
    items: pulumi.Input[Mapping[str, pulumi.Input[str]]],
    parent: pulumi.Resource,
    depends_on: Sequence[pulumi.Resource] = (),
) -> nomad.Variable:
    """Keeps secrets where the job of that namespace and id may read them by its own identity; other jobs may not."""
    namespace, job_id = job
    return nomad.Variable(
        name,
        namespace=namespace,
        path=f"nomad/jobs/{job_id}",
        items=pulumi.Output.secret(items),
        opts=pulumi.ResourceOptions(parent=parent, depends_on=list(depends_on), delete_before_replace=True),
    )
