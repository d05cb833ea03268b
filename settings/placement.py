"""Settings of where the jobs run."""

from pydantic import Field

from settings.types import Identifier, PlainText, Section


class Placement(Section):
    """Where the jobs run."""

    namespace: Identifier = Field("default", description="Nomad namespace of the jobs, volumes and variables.")
    datacenters: list[PlainText] = Field(
        default=["*"], min_length=1, description="Datacenters whose clients may run the jobs; `*` is all of them."
    )
    node_pool: PlainText = Field(
        "default", description="Node pool of the plugin jobs and of MySQL; `all` is every pool."
    )


class Constraint(Section):
    """A constraint on the clients that run a job, as in its constraint block."""

    attribute: PlainText = Field("", description="What is compared, such as `${node.class}`.")
    operator: PlainText = Field("=", description="How, such as `=`, `regexp` or `distinct_hosts`.")
    value: PlainText = Field(description="With what.")
