"""How long a resource waits."""

from typing import Any

from nomad_stateful.schema import rules
from nomad_stateful.schema.fields import Field, integer


def seconds(description: str, default: int) -> Field[Any, int]:
    """Returns the field of a wait's limit in seconds."""
    rule = rules.whole_number(1, 86400, f"It is in seconds; {default} is the default")
    return integer(description, default=default, rule=rule)
