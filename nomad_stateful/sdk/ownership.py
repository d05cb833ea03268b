"""The provider's class for claims to ids, for Pulumi programs in Python."""

from __future__ import annotations

import pulumi

from nomad_stateful.sdk.base import NomadCsiResource


class Ownership(NomadCsiResource):
    """The claim to a job's or a volume's id, which one stack alone can have; what it is a claim to depends on it."""

    kind: pulumi.Output[str]
    """What is claimed: "job" or "volume"."""
    resource_id: pulumi.Output[str] = pulumi.property("resourceId")
    """Id of the job or volume in Nomad."""
    namespace: pulumi.Output[str]
    """Its Nomad namespace."""
    stack: pulumi.Output[str]
    """Full name of the stack."""
    expects: pulumi.Output[str]
    """What may be there when the claim is taken."""
    owner_id: pulumi.Output[str] = pulumi.property("ownerId")
    """Random; it stands in the claim."""

    def __init__(
        self,
        resource_name: str,
        *,
        kind: pulumi.Input[str],
        resource_id: pulumi.Input[str],
        stack: pulumi.Input[str],
        namespace: pulumi.Input[str] = "default",
        expects: pulumi.Input[str] = "nothing",
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """Fails where another stack has the claim, or something `expects` does not name has the id.

        `expects` is "nothing", something "unclaimed", or the owner id of a claim that may be taken over.
        """
        props = {
            "kind": kind,
            "resource_id": resource_id,
            "namespace": namespace,
            "stack": stack,
            "expects": expects,
            "owner_id": None,
        }
        super().__init__("nomad-csi:index:Ownership", resource_name, props, opts)
