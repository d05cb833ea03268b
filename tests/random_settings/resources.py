"""A program's resources with their inputs as a provider plugin is handed them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.unit.program.recorder import record

_SECRET = "4dabf18193072939515e22adb298388d"
"""The key that marks a secret on the wire."""


@dataclass(frozen=True)
class Resource:
    """A resource's type and inputs."""

    typ: str
    inputs: dict[str, Any]


Resources = Mapping[str, Resource]


def made(config: dict[str, Any]) -> Resources:
    """What the program makes of a configuration, by the resources' names."""
    return {name: Resource(found.typ, _plain(dict(found.inputs))) for name, found in record(config).items()}


def _plain(value: Any) -> Any:
    """Whole numbers as such, and secrets as what they hide."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return _plain(value["value"]) if _SECRET in value else {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value
