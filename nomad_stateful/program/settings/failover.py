"""Settings of the failover watch: a job that has those of a lost client started elsewhere without Nomad's wait."""

from typing import ClassVar, Literal

from pydantic import Field

from nomad_stateful.program.settings.types import (
    DAY_S,
    MOST_CPU_MHZ,
    MOST_MEMORY_MIB,
    Earlier,
    Section,
    ServiceName,
    in_docker,
)

_REMEDY = "remove it, and set agentImage (docs/agent.md)"


class Failover(Section):
    """A job that asks EC2 about clients that are lost."""

    earlier: ClassVar = {
        "taskDriver": in_docker("the watch runs", _REMEDY),
        "command": Earlier("the watch is the program of the agent's image", _REMEDY),
        "image": Earlier(
            "the watch is one of the agent's tasks, whose image is named once for all of a stack", _REMEDY
        ),
    }

    job_id: ServiceName = Field("failover", description="Id of the job, which the policy of its identity is bound to.")
    task_driver: Literal["docker"] = Field("docker", description="Nomad's task driver: only docker.")
    count: int = Field(
        2,
        ge=1,
        le=5,
        description="Instances, each on a different client: one may be on a client that is lost with a volume.",
    )
    fence: bool = Field(
        False,
        description="Stop the lost client's instance, with everything on it, where it runs and still has the volume "
        "attached. The clients' role needs `ec2:StopInstances`.",
    )
    cpu_mhz: int = Field(50, ge=20, le=MOST_CPU_MHZ, description="CPU of each instance, in MHz.")
    memory_mib: int = Field(128, ge=16, le=MOST_MEMORY_MIB, description="Memory of each instance, in MiB.")
    timeout_s: int = Field(
        300, ge=1, le=DAY_S, description="How long `up` waits for the watch to be healthy, in seconds."
    )
