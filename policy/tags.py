"""Rules: the tag that the driver's permissions depend on, and an organisation's mandatory tags."""

from collections.abc import Iterable, Mapping
from typing import Any

from nomad_stateful.drivers.ebs import MANAGED_TAG, MANAGED_TAG_VALUE
from nomad_stateful.resource_types import EBS_SNAPSHOT, EBS_SNAPSHOT_COPY, EBS_VOLUME, EFS_FILE_SYSTEM
from policy.resource import UNKNOWN, Resource, shown
from policy.rule import Config, ResourceRule, strings

MANAGED_TYPES = frozenset({EBS_VOLUME, EBS_SNAPSHOT, EBS_SNAPSHOT_COPY})
TAGGED_TYPES = [EBS_VOLUME, EBS_SNAPSHOT, EBS_SNAPSHOT_COPY, EFS_FILE_SYSTEM]


def check_managed_tag(resource: Resource, config: Config) -> Iterable[str]:
    """Yields a volume or snapshot without the driver's tag, which the driver may not attach."""
    tags = _tags(resource)
    if resource.type not in MANAGED_TYPES or tags is None:
        return
    value = tags.get(config["key"])
    if value not in (config["value"], UNKNOWN):
        yield f'tags["{config["key"]}"] is {shown(value)}, not {config["value"]}'


def check_mandatory_tags(resource: Resource, config: Config) -> Iterable[str]:
    """Yields mandatory tags that are missing or empty."""
    tags = _tags(resource)
    if resource.type not in config["types"] or tags is None:
        return
    for key in config["tags"]:
        if not tags.get(key):
            yield f'tags["{key}"] is {shown(tags.get(key) or None)}'


def _tags(resource: Resource) -> Mapping[str, Any] | None:
    """Returns the tags, with the provider's default ones; None while they are not known."""
    found = [resource.props.get(name) or {} for name in ("tagsAll", "tags")]
    if UNKNOWN in found:
        return None
    return {**found[0], **found[1]}


RULES = [
    ResourceRule(
        name="managed-tag",
        sentence="EBS volumes and snapshots have the tag that the driver's IAM policy requires.",
        remedy="add the tag, or create the volume by the component ZonalVolumes, which sets it.",
        settings={
            "key": {"type": "string", "description": "Key of the tag.", "default": MANAGED_TAG},
            "value": {"type": "string", "description": "Its value.", "default": MANAGED_TAG_VALUE},
        },
        check=check_managed_tag,
    ),
    ResourceRule(
        name="mandatory-tags",
        sentence="Resources with data have the organisation's mandatory tags.",
        remedy="set them in `volumes[].tags`, or for the whole stack in `aws:defaultTags`.",
        settings={
            "tags": strings("Keys of the tags.", []),
            "types": strings("Resource types that must have them.", TAGGED_TYPES),
        },
        check=check_mandatory_tags,
    ),
]
