"""Property by property comparison in the terms of a Pulumi diff."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum
from typing import Any

from nomad_stateful.plugin_server.values import Props, contains_unknown

_PLAIN_KEY = re.compile(r"[A-Za-z_$][A-Za-z0-9_$-]*")


class Kind(Enum):
    """What happens to one property; the REPLACE forms say that it makes the whole resource be replaced."""

    ADD = 0
    ADD_REPLACE = 1
    DELETE = 2
    DELETE_REPLACE = 3
    UPDATE = 4
    UPDATE_REPLACE = 5

    @property
    def replaces(self) -> bool:
        return self.value % 2 == 1

    def as_replace(self) -> Kind:
        return self if self.replaces else Kind(self.value + 1)


def child_path(path: str, key: str) -> str:
    """Returns the property path of `key` inside `path`, quoted where the key is not a plain name."""
    if not _PLAIN_KEY.fullmatch(key):
        escaped = key.replace("\\", "\\\\").replace('"', '\\"')
        return f'{path}["{escaped}"]'
    return f"{path}.{key}" if path else key


def top_level(path: str) -> str:
    """Returns the top-level property a path starts with."""
    if path.startswith('["'):
        return path[2 : path.index('"]')].replace('\\"', '"').replace("\\\\", "\\")
    return re.split(r"[.\[]", path, maxsplit=1)[0]


def property_diff(old: Any, new: Any, path: str = "") -> dict[str, Kind]:
    """Returns the paths at which `new` differs from `old`; an unknown always differs, a missing value equals None."""
    if isinstance(old, dict) and isinstance(new, dict):
        diff: dict[str, Kind] = {}
        for key in [*old, *(key for key in new if key not in old)]:
            diff |= property_diff(old.get(key), new.get(key), child_path(path, key))
        return diff
    if isinstance(old, list) and isinstance(new, list):
        diff = {}
        for index in range(max(len(old), len(new))):
            before = old[index] if index < len(old) else None
            after = new[index] if index < len(new) else None
            diff |= property_diff(before, after, f"{path}[{index}]")
        return diff
    if not contains_unknown(new) and not contains_unknown(old) and old == new and type(old) is type(new):
        return {}
    if old is None:
        return {path: Kind.ADD}
    return {path: Kind.DELETE if new is None else Kind.UPDATE}


def input_diff(old: Props, new: Props, replace_on: Iterable[str] = ()) -> dict[str, Kind]:
    """Returns the difference of two input sets; a change below a name in `replace_on` replaces the resource."""
    forcing = set(replace_on)
    return {
        path: kind.as_replace() if top_level(path) in forcing else kind
        for path, kind in property_diff(_visible(old), _visible(new)).items()
    }


def _visible(props: Props) -> Props:
    """Properties without the engine's and the bridge's own bookkeeping."""
    return {key: value for key, value in props.items() if not key.startswith("__")}
