"""Where in AWS the stack is."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pulumi

from program.preflight.adoption import Adopted


@dataclass(frozen=True)
class Surroundings:
    """The account and region the stack is in."""

    account_id: str
    partition: str
    region: str
    aws_config: pulumi.Input[str] = ""
    """The aws provider's configuration as JSON."""
    stack: str = ""
    """Project and name of the stack, by which its volumes are tagged."""
    adopted: Mapping[str, Adopted] = field(default_factory=dict)
    """EBS volumes that are taken up instead of made, by id in Nomad."""
    claimant: str = ""
    """Full name of the stack, by which it claims ids; "" where nothing is claimed."""
    expects: Mapping[str, str] = field(default_factory=dict)
    """What may exist already, by job/ID or volume/ID."""
