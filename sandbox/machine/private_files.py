"""Files that hold credentials: readable by their owner alone from the moment they exist, and never half written."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path


def write_private(path: Path, text: str) -> None:
    """Writes a file of mode 0600 in one step."""
    _fresh(path, text).replace(path)


def create_private(path: Path, text: str) -> None:
    """Writes a file of mode 0600 in one step, unless it is there already."""
    fresh = _fresh(path, text)
    with contextlib.suppress(FileExistsError):
        path.hardlink_to(fresh)
    fresh.unlink()


def _fresh(path: Path, text: str) -> Path:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # mkstemp gives a file of mode 0600 that nobody else writes.
    descriptor, name = tempfile.mkstemp(prefix=f"{path.name}.", dir=path.parent)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    return Path(name)


def read_text(path: Path) -> str:
    """The file's text without surrounding space, empty when there is no such file."""
    try:
        return path.read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return ""
