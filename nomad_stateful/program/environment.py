"""What the stack is deployed into: an AWS account and region, and what exists there and in Nomad already."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pulumi

from nomad_stateful.components.zonal_volumes import Adopted, Grown


@dataclass(frozen=True)
class Environment:
    """The account and region of the stack, its name there, and what it takes over."""

    account_id: str
    partition: str
    region: str
    aws_config: pulumi.Input[str] = ""
    """The aws provider's configuration as JSON."""
    stack: str = ""
    """Project and name of the stack, by which its volumes are tagged."""
    adopted: Mapping[str, Adopted] = field(default_factory=dict)
    """EBS volumes that are adopted instead of created, by id in Nomad."""
    grown: Mapping[str, Grown] = field(default_factory=dict)
    """How far volumes of an earlier release have grown, by id in Nomad."""
    claimant: str = ""
    """Full name of the stack, by which it claims ids; "" where nothing is claimed."""
    expects: Mapping[str, str] = field(default_factory=dict)
    """What may exist already, by job/ID or volume/ID."""

    @property
    def iam_path(self) -> str:
        """IAM path of the stack's policies and roles, by which an identity can be held to them."""
        return f"/nomad-stateful/{self.stack}/"
