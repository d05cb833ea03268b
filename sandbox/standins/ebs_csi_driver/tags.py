"""The tags the driver puts on volumes and snapshots, and the ones it lets others put there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

VOLUME_NAME_TAG: Final = "CSIVolumeName"
SNAPSHOT_NAME_TAG: Final = "CSIVolumeSnapshotName"
MANAGED_TAG: Final = "ebs.csi.aws.com/cluster"
"""`true` on everything the driver made; IAM policies scope by it."""

MAX_TAGS: Final = 50
MAX_KEY_LENGTH: Final = 128
MAX_VALUE_LENGTH: Final = 256
_RESERVED_KEYS: Final = (VOLUME_NAME_TAG, SNAPSHOT_NAME_TAG, MANAGED_TAG)
_RESERVED_PREFIXES: Final = ("kubernetes.io", "aws:")


class TagError(ValueError):
    """A tag that EC2 or the driver does not allow."""


def check_extra_tags(tags: Mapping[str, str]) -> None:
    """Raises TagError for a tag that is too long, reserved, or one too many."""
    if len(tags) > MAX_TAGS:
        raise TagError(f"too many tags (actual: {len(tags)}, limit: {MAX_TAGS})")
    for key, value in tags.items():
        _check_tag(key, value)


def _check_tag(key: str, value: str) -> None:
    if not key:
        raise TagError(f"a tag with the value {value!r} has no key")
    if len(key) > MAX_KEY_LENGTH:
        raise TagError(f"tag key too long (actual: {len(key)}, limit: {MAX_KEY_LENGTH}): {key}")
    if len(value) > MAX_VALUE_LENGTH:
        raise TagError(f"tag value too long (actual: {len(value)}, limit: {MAX_VALUE_LENGTH}): {key}")
    if key in _RESERVED_KEYS:
        raise TagError(f"tag key '{key}' is reserved")
    if key.startswith(_RESERVED_PREFIXES):
        raise TagError(f"tag key prefix of '{key}' is reserved")


def parse_tag_specifications(texts: Iterable[str]) -> dict[str, str]:
    """The tags of tagSpecification_N parameters, each `key=value`; raises TagError.

    Go templates (`{{ .PVCName }}`) speak of Kubernetes objects and are refused rather than taken as text.
    """
    tags: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals:
            raise TagError(f"tag {text!r} has no '=': write key=value")
        if "{{" in value:
            raise TagError(f"tag {text!r} is a template: only plain values are supported")
        tags[key] = value
    return tags


def volume_tags(name: str, extra: Mapping[str, str]) -> dict[str, str]:
    """All tags of a volume the driver makes."""
    return {VOLUME_NAME_TAG: name, MANAGED_TAG: "true", **extra}


def snapshot_tags(name: str, extra: Mapping[str, str]) -> dict[str, str]:
    """All tags of a snapshot the driver makes."""
    return {SNAPSHOT_NAME_TAG: name, MANAGED_TAG: "true", **extra}
