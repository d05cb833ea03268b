"""Rules: what a volume holds can be had back."""

from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

from pulumi_policy import EnforcementLevel

from nomad_stateful.ebs.tags import SNAPSHOTS_TAG
from nomad_stateful.resource_types import EBS_VOLUME, EC2_TAG, NOMAD_CSI_REGISTRATION, NOMAD_CSI_VOLUME
from policy.resource import UNKNOWN, Resource
from policy.rule import Config, ResourceRule, StackRule, strings


def check_snapshots(resource: Resource, config: Config) -> Iterable[str]:
    """Yields a protected EBS volume without a tag by which snapshots of it are taken, except in sandbox stacks."""
    is_sandbox = any(fnmatchcase(resource.stack, pattern) for pattern in config["sandboxStacks"])
    if resource.type != EBS_VOLUME or not resource.protect or is_sandbox:
        return
    tags = resource.props.get("tags") or {}
    if tags is not UNKNOWN and not any(tags.get(key) for key in config["tags"]):
        yield f"no snapshots are taken of it on schedule: it has no tag {' or '.join(config['tags'])}"


def check_others(resources: list[Resource], config: Config) -> Iterator[tuple[Resource, str]]:
    """Yields EBS volumes of drivers and existing ones that no tag is given to, except in sandbox stacks."""
    tagged = {one.props.get("resourceId") for one in resources if one.type == EC2_TAG}
    for resource in resources:
        volume_id = resource.props.get("externalId")
        is_sandbox = any(fnmatchcase(resource.stack, pattern) for pattern in config["sandboxStacks"])
        # The id of a volume that is made by this update is not known yet.
        if is_sandbox or not str(volume_id).startswith("vol-") or volume_id in tagged:
            continue
        # What Pulumi makes has its id from there, and a rule of its own.
        given = resource.type == NOMAD_CSI_REGISTRATION and not resource.sources.get("externalId")
        if given or (resource.type == NOMAD_CSI_VOLUME and resource.protect):
            yield resource, f"no snapshots are taken of {volume_id} on schedule by this stack"


_SANDBOXES = strings("Names of stacks whose data may be lost; `*` matches any part.", ["dev"])

RULES = [
    ResourceRule(
        name="scheduled-snapshots",
        sentence="Protected EBS volumes have scheduled snapshots, except in sandbox stacks.",
        remedy="set `volumes[].snapshots`, or name in this rule's setting `tags` the tag of another schedule.",
        level=EnforcementLevel.ADVISORY,
        settings={
            "tags": strings("Tags by which schedules select a volume; one of them is enough.", [SNAPSHOTS_TAG]),
            "sandboxStacks": _SANDBOXES,
        },
        check=check_snapshots,
    ),
    StackRule(
        name="scheduled-snapshots-of-others",
        sentence="Existing EBS volumes, and protected ones that their driver makes, have scheduled snapshots, except "
        "in sandbox stacks.",
        remedy="set `volumes[].snapshots`; disable this rule if the owner of the volume schedules its snapshots.",
        level=EnforcementLevel.ADVISORY,
        settings={"sandboxStacks": _SANDBOXES},
        check=check_others,
    ),
]
