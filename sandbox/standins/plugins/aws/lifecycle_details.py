"""The details of a lifecycle policy: what may be in them, and their form on the wire and at AWS.

Of what the official plugin takes, these are the parts for snapshots of volumes in a region; others are refused by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from nomad_stateful.plugin_server.plugin import UNKNOWN
from sandbox.standins.plugins.aws.scope import not_implemented

_UNITS: Final = ("DAYS",)
_COPY: Final[Mapping[str, Any]] = {
    "cmkArn": str,
    "copyTags": bool,
    "encrypted": bool,
    "retainRule": {"interval": int, "intervalUnit": _UNITS},
    "target": str,
}
_SCHEDULE: Final[Mapping[str, Any]] = {
    "copyTags": bool,
    "createRule": {"cronExpression": str, "location": str},
    "crossRegionCopyRules": [_COPY],
    "name": str,
    "retainRule": {"count": int, "interval": int, "intervalUnit": _UNITS},
    "tagsToAdd": dict,
}
_DETAILS: Final[Mapping[str, Any]] = {
    "policyLanguage": ("STANDARD",),
    "policyType": ("EBS_SNAPSHOT_MANAGEMENT",),
    "resourceLocations": ("CLOUD",),
    "resourceTypes": [("VOLUME",)],
    "schedules": [_SCHEDULE],
    "targetTags": dict,
}
_REQUIRED: Final = {
    "policyDetails.schedules[]": ("createRule", "name", "retainRule"),
    "policyDetails.schedules[].crossRegionCopyRules[]": ("encrypted",),
    "policyDetails.schedules[].crossRegionCopyRules[].retainRule": ("interval", "intervalUnit"),
}
_CHOSEN: Final = frozenset({"policyLanguage", "policyType", "resourceLocations", "location"})
"""What AWS fills in where it is left out."""
_MAPS: Final = ("tagsToAdd", "targetTags")


def problems(details: Any) -> Iterator[tuple[str, str]]:
    """Yields the path and the reason of each part that cannot be."""
    if isinstance(details, dict):
        yield from _wrong(details, _DETAILS, "policyDetails", "policyDetails")


def _wrong(value: Any, kind: Any, path: str, place: str) -> Iterator[tuple[str, str]]:
    if value is UNKNOWN:
        return
    if isinstance(kind, Mapping) and isinstance(value, dict):
        yield from _wrong_parts(value, kind, path, place)
    elif isinstance(kind, list) and isinstance(value, list):
        for index, item in enumerate(value):
            yield from _wrong(item, kind[0], f"{path}[{index}]", f"{place}[]")
    elif isinstance(kind, Mapping | list):
        yield path, f"expected {'a list' if isinstance(kind, list) else 'an object'}"
    elif isinstance(kind, tuple):
        if value not in kind:
            yield path, f"expected one of {', '.join(kind)}"
    elif not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        yield path, f"expected {'a map' if kind is dict else kind.__name__}"


def _wrong_parts(value: Mapping[str, Any], kind: Mapping[str, Any], path: str, place: str) -> Iterator[tuple[str, str]]:
    yield from ((path, f"Missing required argument: {one}") for one in _REQUIRED.get(place, ()) if one not in value)
    for name, item in value.items():
        if name in kind:
            yield from _wrong(item, kind[name], f"{path}.{name}", f"{place}.{name}")
        else:
            yield f"{path}.{name}", not_implemented(f"the input '{path}.{name}'")


def without_chosen(old: Any, new: Any) -> Any:
    """Returns what AWS has without what it filled in where `new` leaves it out."""
    if isinstance(old, dict) and isinstance(new, dict):
        return {
            name: without_chosen(value, new.get(name))
            for name, value in old.items()
            if name in new or not (name in _CHOSEN or value in ("", False, [], {}))
        }
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [without_chosen(before, after) for before, after in zip(old, new, strict=True)]
    return old


def to_aws(value: Any, name: str = "") -> Any:
    """Returns details, or a part of them, as the API takes them."""
    if name in _MAPS:
        return [{"Key": key, "Value": item} for key, item in sorted(value.items())]
    if name == "resourceLocations":
        return [value]
    if isinstance(value, dict):
        known = {key: item for key, item in value.items() if item != ""}
        return {key[0].upper() + key[1:]: to_aws(item, key) for key, item in known.items()}
    return [to_aws(item) for item in value] if isinstance(value, list) else value


def from_aws(value: Any, name: str = "") -> Any:
    """Returns details, or a part of them, as the API sends them in the form of the plugin."""
    if name in _MAPS:
        return {tag["Key"]: tag["Value"] for tag in value}
    if name == "resourceLocations":
        return value[0]
    if isinstance(value, dict):
        parts = {key[0].lower() + key[1:]: item for key, item in value.items()}
        return {key: from_aws(item, key) for key, item in parts.items()}
    return [from_aws(item) for item in value] if isinstance(value, list) else value
