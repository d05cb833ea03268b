"""Rules: volumes cannot be deleted by mistake."""

from collections.abc import Iterable
from fnmatch import fnmatchcase

from nomad_stateful.resource_types import VOLUMES
from policy.resource import Resource
from policy.rule import Config, ResourceRule, strings


def check_protection(resource: Resource, config: Config) -> Iterable[str]:
    """Yields resources with data that lack Pulumi's option `protect`, except in sandbox stacks."""
    is_sandbox = any(fnmatchcase(resource.stack, pattern) for pattern in config["sandboxStacks"])
    if resource.type in VOLUMES and not is_sandbox and not resource.protect:
        yield f"protect is false in stack {resource.stack}"


RULES = [
    ResourceRule(
        name="volume-protection",
        sentence="Volumes are protected from deletion and replacement, except in sandbox stacks.",
        remedy="set `volumes[].protect: true`, its default, or add the stack to this rule's setting `sandboxStacks`.",
        settings={"sandboxStacks": strings("Names of stacks whose data may be lost; `*` matches any part.", ["dev"])},
        check=check_protection,
    )
]
