"""Folders that a driver's container has from its client. Without a container, the environment says where they are."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Final

VARIABLE: Final = "CSI_DRIVER_FOLDERS"
"""`IN_CONTAINER=ON_CLIENT` pairs, separated by commas: what bind mounts are to a container."""


def on_client(path: str, environ: Mapping[str, str] | None = None) -> Path:
    """Where a folder of the command line or of the driver's image really is."""
    text = (os.environ if environ is None else environ).get(VARIABLE, "")
    for pair in filter(None, text.split(",")):
        inside, _, outside = pair.partition("=")
        if outside and PurePosixPath(path).is_relative_to(inside):
            return Path(outside) / PurePosixPath(path).relative_to(inside)
    return Path(path)
