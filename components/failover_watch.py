"""A job that has the jobs of lost clients started elsewhere without Nomad's wait."""

from typing import NotRequired, TypedDict

import pulumi

from nomad_stateful.components import job_variables
from nomad_stateful.components.component_type import Component
from nomad_stateful.components.consumer import Consumer
from nomad_stateful.components.ownership import Owner
from nomad_stateful.components.placement import JobPlacement


class FailoverTask(TypedDict):
    """How the program runs."""

    image: str
    """Image of the agent."""
    cpu_mhz: int
    """CPU in MHz."""
    memory_mib: int
    """Memory in MiB."""


class FailoverWatchArgs(TypedDict):
    """Inputs of FailoverWatch."""

    job_id: str
    """Id of the job, which the policy of its identity is bound to."""
    placement: JobPlacement
    """Where the job may run."""
    owner: NotRequired[Owner | None]
    """Whose the job is: claimed before anything is made under its id."""
    volumes: list[pulumi.Input[str]]
    """Ids of the registered volumes whose jobs are watched, all in the job's namespace."""
    region: str
    """AWS region of the volumes."""
    account_id: str
    """AWS account of the volumes; "" where it is not known."""
    count: int
    """Instances, each on another client."""
    fence: bool
    """Stop the instance of a lost client that may still write."""
    task: FailoverTask
    """How the program runs."""
    timeout_s: int
    """How long to wait until it watches, in seconds."""


class FailoverWatch(Component):
    """The job, healthy once it may read in Nomad and EC2 what a failover needs to know."""

    job_id: pulumi.Output[str]
    """Id of the job."""

    def __init__(self, name: str, args: FailoverWatchArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("FailoverWatch", name, opts)
        own = Consumer(name, args["job_id"], args["placement"], self, args.get("owner"))
        job = own.job(
            "failover", {**job_variables.failover_watch(args), "volumes": pulumi.Output.all(*args["volumes"])}
        )
        self.job_id = own.health(job, "failover", args["timeout_s"], allocations=args["count"]).job_id
        self.register_outputs({"job_id": self.job_id})
