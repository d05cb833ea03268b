"""The aws provider's own configuration."""

import json
from typing import Any

from pulumi.runtime import config as pulumi_config

_PREFIX = "aws:"


def provider_config() -> dict[str, Any]:
    """Returns every key under `aws:` without that prefix; anything but a string is parsed."""
    found = pulumi_config.CONFIG.get()
    return {key.removeprefix(_PREFIX): _parsed(found[key]) for key in found if key.startswith(_PREFIX)}


def secret_keys() -> set[str]:
    """Returns the keys that the stack encrypts."""
    return {key for key in provider_config() if pulumi_config.is_config_secret(f"{_PREFIX}{key}")}


def _parsed(text: str) -> Any:
    """Returns a value; an account id or a key may look like a number, so only lists, objects and booleans are JSON."""
    if not text.startswith(("[", "{")) and text not in {"true", "false"}:
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text
