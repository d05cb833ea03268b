"""Settings of the failover watch: a job that has those of a lost client started elsewhere without Nomad's wait."""

from typing import Any, Literal

from pydantic import Field, model_validator

from program.settings.errors import Refusal
from program.settings.types import (
    DAY_S,
    MOST_CPU_MHZ,
    MOST_MEMORY_MIB,
    PlainText,
    Section,
    ServiceName,
)


class Failover(Section):
    """A job that asks EC2 about clients that are lost."""

    job_id: ServiceName = Field("failover", description="Id of the job, which the policy of its identity is bound to.")
    task_driver: Literal["docker", "exec", "raw_exec"] = Field("docker", description="How Nomad runs it.")
    command: PlainText = Field(
        "nomad-stateful-agent",
        min_length=1,
        description="The agent on the clients (docs/agent.md), where taskDriver is not docker.",
    )
    count: int = Field(
        2,
        ge=1,
        le=5,
        description="Instances, each on another client, since one may be lost with a volume's.",
    )
    fence: bool = Field(
        False,
        description="Stop the instance of a lost client that runs and still has the volume attached, with everything "
        "on it. The clients' role needs `ec2:StopInstances`.",
    )
    cpu_mhz: int = Field(50, ge=20, le=MOST_CPU_MHZ, description="CPU of each instance, in MHz.")
    memory_mib: int = Field(128, ge=16, le=MOST_MEMORY_MIB, description="Memory of each instance, in MiB.")
    timeout_s: int = Field(300, ge=1, le=DAY_S, description="How long `up` waits until it watches, in seconds.")

    @model_validator(mode="before")
    @classmethod
    def _check_earlier(cls, given: Any) -> Any:
        """Refuses what named the watch's own program and image in earlier releases."""
        if not isinstance(given, dict):
            return given
        if "image" in given:
            rule = "the watch is one of the agent's tasks, whose image is named once for all of a stack"
            raise Refusal("image", given["image"], rule, "remove it, and set agentImage (docs/agent.md)")
        if "command" in given and given.get("taskDriver", "docker") == "docker":
            remedy = "remove it, and set agentImage, whose entrypoint is the agent (docs/agent.md)"
            raise Refusal("command", given["command"], "is not used where taskDriver is docker", remedy)
        if str(given.get("command")).endswith("nomad-stateful-failover"):
            remedy = "write nomad-stateful-agent in its place, or remove it where that is on the clients' PATH"
            raise Refusal("command", given["command"], "the agent has the watch now (docs/agent.md)", remedy)
        return given
