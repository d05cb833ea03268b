"""Fields that several resources have: where in Nomad and AWS something is, and how long it is waited for."""

from typing import Any

from nomad_stateful.schema import rules
from nomad_stateful.schema.fields import Field, integer, text


def namespace(description: str) -> Field[Any, str]:
    """Returns the field of a Nomad namespace; in another one it is another resource."""
    return text(description, default="default", replaces=True, rule=rules.name("default"))


def seconds(description: str, default: int) -> Field[Any, int]:
    """Returns the field of a wait's limit in seconds."""
    rule = rules.whole_number(1, 86400, f"It is in seconds; {default} is the default")
    return integer(description, default=default, rule=rule)


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
