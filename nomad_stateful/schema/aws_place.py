"""Where in AWS a volume is: what a resource remembers of the provider's configuration."""

from typing import Any

from nomad_stateful.schema import rules
from nomad_stateful.schema.fields import Field, text


def account_id(description: str) -> Field[Any, str]:
    """Returns the field of an account's id."""
    return text(description, default="", rule=rules.aws_account())


REGION = text("AWS region of the volume; by default the provider's, and remembered.", default="")
ACCOUNT_ID = account_id(
    "AWS account the volume is in; by default the provider's, and remembered. Only there is a volume that EC2 does not "
    "find taken to be gone."
)
AWS_CONFIG = text(
    "Of no effect where the provider has an account, and gone in the next release: the provider's awsConfig.",
    default=None,
    secret=True,
)
