"""Requests and answers as log lines may show them."""

from __future__ import annotations

from typing import Any, Final

_STRIPPED: Final = "***stripped***"


def for_log(message: Any) -> str:
    """A protobuf message on one line, its csi_secret fields blanked."""
    copy = type(message)()
    copy.CopyFrom(message)
    for field in copy.DESCRIPTOR.fields:
        # Every field the protocol marks csi_secret is a map of that name.
        if field.name.endswith("secrets"):
            secrets = getattr(copy, field.name)
            for key in list(secrets):
                secrets[key] = _STRIPPED
    return " ".join(str(copy).split())
