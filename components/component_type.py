"""The types of components: they are in the plugin's package, where its resources are."""

import pulumi

PACKAGE = "nomad-csi"
_EARLIER_PACKAGE = "nomad-stateful"
"""That of components up to 0.2.0: stacks have it in their state until their next `up`."""


def component_type(name: str) -> str:
    """Returns a component's type as the engine knows it."""
    return f"{PACKAGE}:index:{name}"


def earlier_type(name: str) -> str:
    """Returns the type that a component had in earlier releases."""
    return f"{_EARLIER_PACKAGE}:index:{name}"


def as_before(name: str, opts: pulumi.ResourceOptions | None) -> pulumi.ResourceOptions:
    """Returns a component's options, by which it is the one that an earlier release made."""
    alias = pulumi.Alias(type_=earlier_type(name))
    return pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(aliases=[alias]))
