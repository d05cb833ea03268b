"""Tags: what the provider's defaultTags make of a resource's own tags, in both directions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

_DEFAULTS_MARK: Final = "__defaults"  # older plugins left this bookkeeping key inside maps


@dataclass(frozen=True)
class TagRules:
    """The provider's tag settings: `defaults` go on everything."""

    defaults: Mapping[str, str] = field(default_factory=dict)

    def merged(self, own: Mapping[str, Any]) -> dict[str, Any]:
        """Returns tagsAll for a resource's own tags: defaults below them."""
        return {**self.defaults, **plain_tags(own)}

    def all_shown(self, actual: Mapping[str, str]) -> dict[str, str]:
        """Returns tagsAll as read from AWS: without AWS's own tags."""
        return {key: value for key, value in actual.items() if not key.startswith("aws:")}

    def own_shown(self, actual: Mapping[str, str], own: Mapping[str, Any]) -> dict[str, str]:
        """Returns the tags that are the resource's own: all shown, less the defaults it did not set itself."""
        return {
            key: value for key, value in self.all_shown(actual).items() if key in own or self.defaults.get(key) != value
        }


def plain_tags(tags: Any) -> dict[str, Any]:
    """Returns a tag map without bookkeeping keys; {} for None."""
    return {key: value for key, value in (tags or {}).items() if key != _DEFAULTS_MARK}


def to_aws(tags: Mapping[str, str]) -> Any:
    """Returns tags as the list of Key/Value pairs that AWS takes."""
    return [{"Key": key, "Value": value} for key, value in sorted(tags.items())]


def from_aws(tags: Sequence[Mapping[str, Any]] | None) -> dict[str, str]:
    """Returns AWS's list of Key/Value pairs as a map."""
    return {tag["Key"]: tag.get("Value", "") for tag in tags or []}


def retag(
    state: Mapping[str, Any],
    inputs: Mapping[str, Any],
    put: Callable[[dict[str, str]], Any],
    remove: Callable[[list[str]], Any],
) -> None:
    """Turns the tags of a resource's state into those of its inputs, leaving tags in neither alone."""
    old, new = plain_tags(state.get("tagsAll")), plain_tags(inputs.get("tagsAll"))
    if to_remove := sorted(key for key in old if key not in new):
        remove(to_remove)
    if to_set := {key: value for key, value in new.items() if old.get(key) != value}:
        put(to_set)
