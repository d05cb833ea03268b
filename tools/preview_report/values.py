"""Property values as a preview prints them: unknown and secret ones recognised, secrets never let through."""

import json
from typing import Any, Final

SECRET: Final = "[secret]"
UNKNOWN_TEXT: Final = "(known after apply)"
MISSING: Final = object()
"""No value at all, as against null."""

_SIGNATURE_KEY: Final = "4dabf18193072939515e22adb298388d"
_SECRET_SIGNATURE: Final = "1b47061264138c4ac30d75fd1eb44270"
_UNKNOWN: Final = frozenset(
    {
        "04da6b54-80e4-46f7-96ec-b56ff0331ba9",  # string
        "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",  # bool
        "3eeb2bf0-c639-47a8-9e75-3b44932eb421",  # number
        "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",  # array
        "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",  # object
        "030794c1-ac77-496b-92df-f27374a8bd58",  # asset
        "e48ece36-62e2-4504-bad9-02848725956a",  # archive
    }
)
"""What Pulumi writes in the place of a value that is not known before the update."""

_LONGEST: Final = 160
_SHORTEST: Final = 40

SECRET_PROPERTIES: Final = {
    "nomad:index/variable:Variable": frozenset({"items"}),
    "nomad:index/csiVolume:CsiVolume": frozenset({"secrets"}),
    "nomad:index/csiVolumeRegistration:CsiVolumeRegistration": frozenset({"secrets"}),
    "nomad-csi:index:GeneratedSecret": frozenset({"result"}),
    "nomad-csi:index:VolumeGrowth": frozenset({"secrets"}),
}
"""Secret by their meaning, whether or not the program marked them."""


def is_unknown(value: Any) -> bool:
    """Whether the value itself is not known before the update."""
    return isinstance(value, str) and value in _UNKNOWN


def has_unknown(value: Any) -> bool:
    """Whether any part of the value is not known before the update."""
    if isinstance(value, str):
        return any(mark in value for mark in _UNKNOWN)
    if isinstance(value, dict):
        return any(has_unknown(item) for item in value.values())
    return isinstance(value, list) and any(has_unknown(item) for item in value)


def masked(value: Any) -> Any:
    """The value with every secret in it replaced, also those that came in clear."""
    if isinstance(value, dict):
        if value.get(_SIGNATURE_KEY) == _SECRET_SIGNATURE:
            return SECRET
        return {key: masked(item) for key, item in value.items()}
    return [masked(item) for item in value] if isinstance(value, list) else value


def has_secret(value: Any) -> bool:
    """Whether a masked value stands for, or contains, a secret."""
    if isinstance(value, dict):
        return any(has_secret(item) for item in value.values())
    if isinstance(value, list):
        return any(has_secret(item) for item in value)
    return isinstance(value, str) and SECRET in value


def shown(value: Any) -> str:
    """A masked value in one line of at most a few words."""
    if value is MISSING:
        return ""
    if is_unknown(value):
        return UNKNOWN_TEXT
    text = value if isinstance(value, str) and value.strip() else json.dumps(value, sort_keys=True, ensure_ascii=False)
    for mark in _UNKNOWN:
        text = text.replace(mark, UNKNOWN_TEXT)
    if len(text.strip().splitlines()) > 1:
        return f"{len(text.strip().splitlines())} lines: {' '.join(text.split())[:_SHORTEST]}…"
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
