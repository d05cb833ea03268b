"""What all components are: resources of the plugin's package, which earlier releases had in another one."""

import pulumi

from nomad_stateful.schema.fields import PACKAGE

_EARLIER_PACKAGE = "nomad-stateful"
"""That of components up to 0.2.0: stacks have it in their state until their next `up`."""


def component_type(name: str) -> str:
    """Returns a component's type as the engine knows it."""
    return f"{PACKAGE}:index:{name}"


def database_type(database: str, role: str) -> str:
    """Returns the name of the type of a database's component, such as MysqlServer."""
    return f"{database.capitalize()}{role}"


def earlier_type(name: str) -> str:
    """Returns the type that a component had in earlier releases."""
    return f"{_EARLIER_PACKAGE}:index:{name}"


class Component(pulumi.ComponentResource):
    """A component by the name of its type, and the same one that an earlier release made."""

    def __init__(self, type_name: str, name: str, opts: pulumi.ResourceOptions | None = None) -> None:
        aliases = [pulumi.Alias(type_=earlier_type(type_name))]
        placed = pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(aliases=aliases))
        super().__init__(component_type(type_name), name, None, placed)
