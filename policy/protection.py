"""Volumes cannot be deleted by mistake."""

from collections.abc import Iterable
from fnmatch import fnmatchcase

from policy.resource import EBS_VOLUME, EFS_FILE_SYSTEM, NOMAD_CSI_VOLUME, Resource
from policy.rule import Config, ResourceRule, strings

DATA_TYPES = frozenset({EBS_VOLUME, EFS_FILE_SYSTEM, NOMAD_CSI_VOLUME})


def check_protection(resource: Resource, config: Config) -> Iterable[str]:
    """Outside sandboxes, what holds data has Pulumi's option `protect`."""
    is_sandbox = any(fnmatchcase(resource.stack, pattern) for pattern in config["sandboxStacks"])
    if resource.type in DATA_TYPES and not is_sandbox and not resource.protect:
        yield f"protect is false in stack {resource.stack}"


RULES = [
    ResourceRule(
        name="volume-protection",
        sentence="Volumes are protected from deletion and replacement, except in sandbox stacks.",
        remedy="set `volumes[].protect: true`, its default, or add the stack to this rule's setting `sandboxStacks`.",
        settings={"sandboxStacks": strings("Names of stacks whose data may go; `*` matches any part.", ["dev"])},
        check=check_protection,
    )
]
