"""Rule: what a volume holds can be had back."""

from collections.abc import Iterable
from fnmatch import fnmatchcase

from pulumi_policy import EnforcementLevel

from nomad_stateful.ebs.tags import SNAPSHOTS_TAG
from nomad_stateful.resource_types import EBS_VOLUME
from policy.resource import UNKNOWN, Resource
from policy.rule import Config, ResourceRule, strings


def check_snapshots(resource: Resource, config: Config) -> Iterable[str]:
    """Yields a protected EBS volume without a tag by which snapshots of it are taken, except in sandbox stacks."""
    is_sandbox = any(fnmatchcase(resource.stack, pattern) for pattern in config["sandboxStacks"])
    if resource.type != EBS_VOLUME or not resource.protect or is_sandbox:
        return
    tags = resource.props.get("tags") or {}
    if tags is not UNKNOWN and not any(tags.get(key) for key in config["tags"]):
        yield f"no snapshots are taken of it on schedule: it has no tag {' or '.join(config['tags'])}"


RULES = [
    ResourceRule(
        name="scheduled-snapshots",
        sentence="Of protected EBS volumes snapshots are taken on schedule, except in sandbox stacks.",
        remedy="set `volumes[].snapshots`, or in this rule's setting `tags` the tag by which others take them.",
        level=EnforcementLevel.ADVISORY,
        settings={
            "tags": strings("Tags by one of which snapshots of a volume are taken.", [SNAPSHOTS_TAG]),
            "sandboxStacks": strings("Names of stacks whose data may be lost; `*` matches any part.", ["dev"]),
        },
        check=check_snapshots,
    )
]
