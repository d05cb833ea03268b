"""The parameters of volumes and snapshots, as strings from the orchestrator."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from sandbox.standins.csi.errors import invalid
from sandbox.standins.ebs_csi_driver.cloud.volume_types import DEFAULT_TYPE, TYPES
from sandbox.standins.ebs_csi_driver.tags import TagError, check_extra_tags, parse_tag_specifications

TAG_PREFIX: Final = "tagSpecification"
LACKING: Final = (
    *("blocksize", "inodesize", "bytesperinode", "numberofinodes", "ext4bigalloc", "ext4clustersize", "blockexpress"),
)
"""What upstream takes, as parameters or in a volume's context, and no volume here asks for."""

_NUMBERS: Final = {"iops": "iops", "iopspergb": "iops_per_gib", "throughput": "throughput"}
_IGNORED: Final = frozenset({"fstype", "encrypted", "allowautoiopspergbincrease"})


@dataclass(frozen=True)
class VolumeParameters:
    """What the parameters of CreateVolume ask for; 0 and "" mean not given."""

    volume_type: str = DEFAULT_TYPE
    iops: int = 0
    iops_per_gib: int = 0
    may_raise_iops: bool = False
    throughput: int = 0
    encrypted: bool = False
    kms_key_id: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Modification:
    """What mutable parameters ask to change; 0 and "" mean leave it."""

    volume_type: str = ""
    iops: int = 0
    throughput: int = 0
    tags: Mapping[str, str] = field(default_factory=dict)


def _number(key: str, value: str) -> int:
    if not re.fullmatch(r"\d{1,9}", value):
        raise invalid(f"Could not parse invalid {key}: {value!r} is not a whole number")
    return int(value)


def _checked_type(value: str) -> str:
    if value not in TYPES:
        raise invalid(f"type is {value!r}: EBS has no such volume type. Use one of {', '.join(TYPES)}")
    return value


def read_tags(texts: list[str]) -> dict[str, str]:
    """The tags of tagSpecification parameters; an invalid one is INVALID_ARGUMENT."""
    try:
        tags = parse_tag_specifications(texts)
        check_extra_tags(tags)
    except TagError as error:
        raise invalid(f"Invalid tag value: {error}") from None
    return tags


def read_volume_parameters(parameters: Mapping[str, str], mutable: Mapping[str, str]) -> VolumeParameters:
    """Reads CreateVolume's parameters (keys in any case); mutable ones win. INVALID_ARGUMENT names the key."""
    lowered = {key.lower(): value for key, value in parameters.items()}
    numbers: dict[str, int] = {}
    tag_texts: list[str] = []
    for key, value in parameters.items():
        low = key.lower()
        if low in _NUMBERS:
            numbers[_NUMBERS[low]] = _number(key, value)
        elif low in LACKING:
            raise invalid(f"this stand-in does not have the parameter {key}")
        elif key.startswith(TAG_PREFIX):
            tag_texts.append(value)
        elif low not in _IGNORED and low not in {"type", "kmskeyid"}:
            raise invalid(f"Invalid parameter key {key} for CreateVolume")
    change = read_modification(mutable)
    for name in ("iops", "throughput"):
        if given := getattr(change, name):
            numbers[name] = given
    return VolumeParameters(
        volume_type=change.volume_type or lowered.get("type") or DEFAULT_TYPE,
        may_raise_iops=lowered.get("allowautoiopspergbincrease") == "true",
        encrypted=lowered.get("encrypted") == "true" or bool(lowered.get("kmskeyid")),
        kms_key_id=lowered.get("kmskeyid", ""),
        tags={**read_tags(tag_texts), **change.tags},
        **numbers,
    )


def check_context(context: Mapping[str, str]) -> None:
    """INVALID_ARGUMENT for what upstream reads of a volume's context, and this stand-in does not."""
    for key in ("partition", *LACKING):
        if context.get(key):
            raise invalid(f"this stand-in does not have the volume attribute {key}")


def read_modification(mutable: Mapping[str, str]) -> Modification:
    """Reads mutable parameters; INVALID_ARGUMENT names the key."""
    volume_type = ""
    numbers: dict[str, int] = {}
    tag_texts: list[str] = []
    for key, value in mutable.items():
        if key == "type":
            volume_type = _checked_type(value)
        elif key in {"iops", "throughput"}:
            numbers[key] = _number(key, value)
        elif key.startswith(TAG_PREFIX):
            tag_texts.append(value)
        else:
            raise invalid(f"Invalid mutable parameter key: {key}")
    return Modification(volume_type=volume_type, tags=read_tags(tag_texts), **numbers)


def read_snapshot_tags(parameters: Mapping[str, str]) -> dict[str, str]:
    """The tags CreateSnapshot's parameters ask for; INVALID_ARGUMENT names a key that is not known."""
    tag_texts: list[str] = []
    for key, value in parameters.items():
        if key.startswith(TAG_PREFIX):
            tag_texts.append(value)
        else:
            raise invalid(f"Invalid parameter key {key} for CreateSnapshot")
    return read_tags(tag_texts)
