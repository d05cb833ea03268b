"""The claim that a stack has to an id in Nomad before it makes anything under it."""

from typing import TypedDict

import pulumi

from nomad_stateful.sdk import Ownership


class Owner(TypedDict):
    """Whose the jobs and volumes are. Without it nothing is claimed, and what has the id already is replaced."""

    stack: str
    """Full name of the stack: organization/project/stack."""
    expects: dict[str, str]
    """What may exist already, by job/ID or volume/ID: "unclaimed", or the owner id of a claim to take over."""


def claim(name: str, what: tuple[str, str, str], owner: Owner | None, opts: pulumi.ResourceOptions) -> list[Ownership]:
    """Returns the claim to the id of a job or volume, which goes before all that has it; none without an owner.

    `what` is its kind ("job" or "volume"), its namespace and its id.
    """
    if owner is None:
        return []
    kind, namespace, resource_id = what
    return [
        Ownership(
            f"{name}-ownership",
            kind=kind,
            resource_id=resource_id,
            namespace=namespace,
            stack=owner["stack"],
            expects=owner["expects"].get(f"{kind}/{resource_id}"),
            opts=opts,
        )
    ]
