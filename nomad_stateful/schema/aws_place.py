"""Where in AWS a volume is, and how it is reached: fields of every resource that asks EC2."""

from typing import Any

from nomad_stateful.schema import rules
from nomad_stateful.schema.fields import Field, text


def account_id(description: str) -> Field[Any, str]:
    """Returns the field of an account's id."""
    return text(description, default="", rule=rules.aws_account())


REGION = text("AWS region of the volume; empty: the AWS configuration's.", default="")
ACCOUNT_ID = account_id("AWS account the volume is in. Only there is a volume that EC2 does not find taken to be gone.")
AWS_CONFIG = text("The aws provider's configuration as JSON; empty: all of it is in the environment.", default="")
