"""Settings of the failover watch: a job that has those of a lost client started elsewhere without Nomad's wait."""

from typing import Literal

from pydantic import Field, model_validator

from program.settings.errors import Refusal
from program.settings.types import (
    DAY_S,
    MOST_CPU_MHZ,
    MOST_MEMORY_MIB,
    PinnedImage,
    PlainText,
    Section,
    ServiceName,
)


class Failover(Section):
    """A job that asks EC2 about clients that are lost."""

    job_id: ServiceName = Field("failover", description="Id of the job, which the policy of its identity is bound to.")
    task_driver: Literal["docker", "exec", "raw_exec"] = Field("docker", description="How Nomad runs it.")
    image: PinnedImage | None = Field(
        None, description="Image that has the command, with a pinned tag or digest (docker only)."
    )
    command: PlainText = Field(
        "nomad-stateful-failover",
        min_length=1,
        description="Program to run: in the image, or on the clients' PATH. `nomad_stateful`'s wheel installs it.",
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

    @model_validator(mode="after")
    def _check(self) -> "Failover":
        if self.task_driver == "docker" and self.image is None:
            remedy = "name the image that has nomad-stateful-failover (docs/failover.md), or set taskDriver to exec"
            raise Refusal("image", None, "is needed where taskDriver is docker", remedy)
        if self.task_driver != "docker" and self.image is not None:
            raise Refusal("image", self.image, f"is not used where taskDriver is {self.task_driver}", "remove it")
        return self
