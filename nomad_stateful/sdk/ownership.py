"""Claims to ids in Nomad."""

from typing import Required, TypedDict, Unpack

import pulumi

from nomad_stateful.schema.ownership import OWNERSHIP
from nomad_stateful.sdk.base import NomadCsiResource


class OwnershipInputs(TypedDict, total=False):
    """What Ownership takes."""

    kind: Required[pulumi.Input[str]]
    resource_id: Required[pulumi.Input[str]]
    namespace: pulumi.Input[str] | None
    stack: Required[pulumi.Input[str]]
    expects: pulumi.Input[str] | None


class Ownership(NomadCsiResource):
    """The claim to a job's or a volume's id, which one stack alone can have; what it is a claim to depends on it.

    Fails where another stack has the claim, or something that `expects` does not name has the id.
    """

    table = OWNERSHIP

    kind: pulumi.Output[str]
    resource_id: pulumi.Output[str]
    namespace: pulumi.Output[str]
    stack: pulumi.Output[str]
    expects: pulumi.Output[str]
    owner_id: pulumi.Output[str]

    def __init__(
        self,
        resource_name: str,
        *,
        opts: pulumi.ResourceOptions | None = None,
        **inputs: Unpack[OwnershipInputs],
    ) -> None:
        self._register(resource_name, inputs, opts)
