"""Settings of where the jobs run: constraints as Nomad takes them, with what each operator compares with."""

import re
from collections.abc import Callable, Mapping
from typing import Annotated

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import SchemaError, SchemaValidator, core_schema

from nomad_stateful.program.settings.errors import Refusal
from nomad_stateful.program.settings.types import NodePool, PlainText, Section

_VERSION = r"v?[0-9]{1,9}(\.[0-9]{1,9}){0,2}(-[0-9A-Za-z.]*[0-9A-Za-z])?"
_VERSIONS = re.compile(rf"\s*(=|!=|>=|<=|>|<|~>)?\s*{_VERSION}\s*(,\s*(=|!=|>=|<=|>|<|~>)?\s*{_VERSION}\s*)*")
_SEMANTIC = r"[0-9]{1,9}\.[0-9]{1,9}\.[0-9]{1,9}(-[0-9A-Za-z.]*[0-9A-Za-z])?"
_SEMANTICS = re.compile(rf"\s*(=|!=|>=|<=|>|<)?\s*{_SEMANTIC}\s*(,\s*(=|!=|>=|<=|>|<)?\s*{_SEMANTIC}\s*)*")
# What Go's expressions lack of those that the check below is made with, beside repetitions beyond 1000.
_NOT_GO = re.compile(
    r"\\[^dDwWsSbBAzafnrtv.+*?()|\[\]{}^$\\/\-]|\\b\{|\(\?[a-zA-Z-]*[xuUR]|\(\?<|&&|--|~~|\[[^\]]*\[(?!:)|\{,|[0-9]{4}"
)


def _expression(text: str) -> bool:
    """Returns whether a text is a regular expression in Go: what Rust takes too, whose are of the same family."""
    try:
        SchemaValidator(core_schema.str_schema(pattern=text))
    except SchemaError:
        return False
    return not _NOT_GO.search(text)


_ANY: tuple[Callable[[str], bool], str, str] = (bool, "this operator compares with a value", "set value")
_NONE = (lambda text: not text, "this operator compares with nothing", "leave value empty")
_PROPERTY = (
    lambda text: re.fullmatch(r"([1-9][0-9]{0,8})?", text) is not None,
    "must be how many allocations may share the property",
    "write a number from 1, or leave it empty for 1",
)

OPERATORS: Mapping[str, tuple[Callable[[str], bool], str, str]] = {
    **dict.fromkeys(("=", "==", "is", "!=", "not", "<", "<=", ">", ">="), _ANY),
    **dict.fromkeys(("set_contains", "set_contains_all", "set_contains_any"), _ANY),
    "regexp": (_expression, "must be a regular expression as in Go (RE2)", "correct it, as in ^(a|b)$"),
    "version": (
        lambda text: _VERSIONS.fullmatch(text) is not None,
        "must be versions with comparisons",
        "write it as in >= 1.2, < 2.0",
    ),
    "semver": (
        lambda text: _SEMANTICS.fullmatch(text) is not None,
        "must be whole versions with comparisons",
        "write it as in >= 1.2.0, < 2.0.0",
    ),
    "is_set": _NONE,
    "is_not_set": _NONE,
    "distinct_hosts": (
        lambda text: text in ("", "true", "false"),
        "must be true or false",
        "write true or false in quotes, or leave it empty",
    ),
    "distinct_property": _PROPERTY,
}
"""The operators, and for each what tells whether a value fits, the rule and the remedy."""


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
        if self.operator not in OPERATORS:
            known = ", ".join(OPERATORS)
            raise Refusal("operator", self.operator, "Nomad knows no such operator", f"use one of {known}")
        if self.operator != "distinct_hosts" and not ATTRIBUTE.fullmatch(self.attribute):
            rule = "must be an attribute that Nomad resolves on a client"
            remedy = "write one such as ${node.class}, ${attr.kernel.name} or ${meta.storage}"
            raise Refusal("attribute", self.attribute, rule, remedy)
        takes, rule, remedy = OPERATORS[self.operator]
        if not takes(self.value):
            raise Refusal("value", self.value, rule, remedy)
        return self
