"""Where a job runs, as every component that submits jobs takes it."""

from typing import TypedDict


class JobPlacement(TypedDict):
    """Where a job may run."""

    namespace: str
    """Nomad namespace."""
    datacenters: list[str]
    """Datacenters whose clients may run it."""
    node_pool: str
    """Node pool whose clients may run it."""


class JobConstraint(TypedDict):
    """A constraint on the clients a job may run on."""

    attribute: str
    """What is compared, such as ${node.class}."""
    operator: str
    """How, such as = or regexp."""
    value: str
    """With what."""
