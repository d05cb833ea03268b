"""Tags: what the provider's defaultTags and ignoreTags make of a resource's own tags, in both directions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

_DEFAULTS_MARK: Final = "__defaults"  # older plugins left this bookkeeping key inside maps


@dataclass(frozen=True)
class TagRules:
    """The provider's tag settings: `defaults` go on everything; ignored keys are neither sent nor shown."""

    defaults: Mapping[str, str] = field(default_factory=dict)
    ignored_keys: frozenset[str] = frozenset()
    ignored_prefixes: tuple[str, ...] = ()

    def ignores(self, key: str) -> bool:
        """Tells whether tags with this key are somebody else's."""
        return key in self.ignored_keys or key.startswith(self.ignored_prefixes)

    def merged(self, own: Mapping[str, Any]) -> dict[str, Any]:
        """Returns tagsAll for a resource's own tags: defaults below them, ignored keys left out."""
        everything = {**self.defaults, **plain_tags(own)}
        return {key: value for key, value in everything.items() if not self.ignores(key)}

    def all_shown(self, actual: Mapping[str, str]) -> dict[str, str]:
        """Returns tagsAll as read from AWS: without AWS's own tags and ignored keys."""
        return {key: value for key, value in actual.items() if not key.startswith("aws:") and not self.ignores(key)}

    def own_shown(self, actual: Mapping[str, str], own: Mapping[str, Any]) -> dict[str, str]:
        """Returns the tags that are the resource's own: all shown, less the defaults it did not set itself."""
        return {
            key: value for key, value in self.all_shown(actual).items() if key in own or self.defaults.get(key) != value
        }


def plain_tags(tags: Any) -> dict[str, Any]:
    """Returns a tag map without bookkeeping keys; {} for None."""
    return {key: value for key, value in (tags or {}).items() if key != _DEFAULTS_MARK}


def to_aws(tags: Mapping[str, str]) -> list[dict[str, str]]:
    """Returns tags as the list of Key/Value pairs that AWS takes."""
    return [{"Key": key, "Value": value} for key, value in sorted(tags.items())]


def from_aws(tags: Sequence[Mapping[str, Any]] | None) -> dict[str, str]:
    """Returns AWS's list of Key/Value pairs as a map."""
    return {tag["Key"]: tag.get("Value", "") for tag in tags or []}


def changes(old: Mapping[str, str], new: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Returns (tags to set, keys to remove) that turn `old` into `new`."""
    to_set = {key: value for key, value in new.items() if old.get(key) != value}
    return to_set, sorted(key for key in old if key not in new)
