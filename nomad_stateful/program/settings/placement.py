"""Settings of where the jobs run."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from nomad_stateful.program.settings import expressions
from nomad_stateful.program.settings.errors import Refusal
from nomad_stateful.program.settings.types import NodePool, PlainText, Section

# What Nomad resolves on a client, and nothing else.
ATTRIBUTE = re.compile(r"\$\{(node\.(unique\.id|unique\.name|datacenter|class|pool)|(attr|meta|device)\.[^{}]+)\}")


def _datacenter(name: str) -> str:
    if name:
        return name
    raise Refusal("", name, "Nomad takes no datacenter without a name", "name it, or write * for all of them")


class Placement(Section):
    """Where the jobs run."""

    namespace: str = Field(
        "default",
        pattern=r"^[A-Za-z0-9-]{1,128}$",
        description="Nomad namespace of the jobs, volumes and variables.",
        json_schema_extra={"rule": "must be the name of a namespace: letters, digits and -; 128 characters at most"},
    )
    datacenters: list[Annotated[PlainText, AfterValidator(_datacenter)]] = Field(
        default=["*"], min_length=1, description="Datacenters whose clients may run the jobs; `*` is all of them."
    )
    node_pool: NodePool = Field(
        "default", description="Node pool of the plugin jobs and of the database; `all` is every pool."
    )


class Constraint(Section):
    """A constraint on the clients that run a job, as in its constraint block."""

    attribute: PlainText = Field("", description="Attribute to compare, such as `${node.class}`.")
    operator: PlainText = Field("=", description="Operator, such as `=`, `regexp` or `distinct_hosts`.")
    value: PlainText = Field(description="Value to compare with.")

    @model_validator(mode="after")
    def _check(self) -> "Constraint":
        if self.operator not in expressions.OPERATORS:
            known = ", ".join(expressions.OPERATORS)
            raise Refusal("operator", self.operator, "Nomad knows no such operator", f"use one of {known}")
        if self.operator != "distinct_hosts" and not ATTRIBUTE.fullmatch(self.attribute):
            rule = "must be an attribute that Nomad resolves on a client"
            remedy = "write one such as ${node.class}, ${attr.kernel.name} or ${meta.storage}"
            raise Refusal("attribute", self.attribute, rule, remedy)
        if problem := expressions.value_problem(self.operator, self.value):
            raise Refusal("value", self.value, *problem)
        return self
