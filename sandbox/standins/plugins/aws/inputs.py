"""Declared inputs of a resource type: what each may hold, and how values from any language become that."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, Final, Literal

from nomad_stateful.plugin_server.plugin import UNKNOWN
from sandbox.standins.plugins.aws.policy_json import go_json
from sandbox.standins.plugins.aws.tags import plain_tags

Kind = Literal["string", "integer", "boolean", "tags", "policy", "object", "list"]

_RANDOM_DIGITS: Final = 7


@dataclass(frozen=True)
class Field:
    """One input: `computed` ones keep what AWS chose when unset; changing a `replaces` one makes a new resource.

    A `fixed` one is compared with what AWS has, but the stand-in refuses to set it to anything but its default.
    """

    kind: Kind
    required: bool = False
    computed: bool = False
    replaces: bool = False
    fixed: bool = False
    default: Any = None


def coerce(kind: Kind, value: Any) -> Any:
    """Returns a known `value` as what `kind` takes; ValueError saying what is wrong with it."""
    match kind:
        case "integer":
            return _integer(value)
        case "boolean":
            return _boolean(value)
        case "tags":
            return _tags(value)
        case "object" | "list":
            return _shaped(kind, value)
        case "policy" if isinstance(value, (dict, list)):
            return go_json(value)
        case _:
            return _string(value)


def is_zero(value: Any) -> bool:
    """Tells whether a value is what an unset property reads as."""
    return value is not UNKNOWN and (value is None or value == "" or value is False or value in (0, {}, []))


def autoname(logical_name: str, seed: bytes) -> str:
    """Returns a name made of the resource's logical name and seven hexadecimal digits drawn from `seed`."""
    return f"{logical_name}-{hashlib.sha256(seed).hexdigest()[:_RANDOM_DIGITS]}"


def _shaped(kind: Literal["object", "list"], value: Any) -> Any:
    if not isinstance(value, dict if kind == "object" else list):
        raise ValueError("expected an object" if kind == "object" else "expected a list")
    return _cleaned(value)


def _cleaned(value: Any) -> Any:
    """Returns a value without nulls and bookkeeping at any depth, and with whole numbers as such."""
    if isinstance(value, dict):
        return {key: _cleaned(item) for key, item in plain_tags(value).items() if item is not None}
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    return int(value) if isinstance(value, float) and value == int(value) else value


def _integer(value: Any) -> int:
    if isinstance(value, str):
        try:
            return int(value)
        except ValueError:
            raise ValueError(f"expected a whole number, got '{value}'") from None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != int(value):
        raise ValueError(f"expected a whole number, got {value!r}")
    return int(value)


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if value in ("true", "false"):
        return bool(value == "true")
    raise ValueError("expected true or false")


def _string(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return str(value)
    raise ValueError("expected a string")


def _tags(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("expected a map of strings")
    result: dict[str, Any] = {}
    for key, item in plain_tags(value).items():
        if item is UNKNOWN:
            result[key] = item
        elif item is not None:
            try:
                result[key] = _string(item)
            except ValueError:
                raise ValueError(f"the value of tag '{key}' is not a string") from None
    return result
