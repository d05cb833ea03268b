"""Results as lines of JSON in a file, to which each start of a command appends."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def append(path: Path, line: Mapping[str, Any]) -> None:
    """Appends a line; what earlier starts left stays."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def read(path: Path) -> list[dict[str, Any]]:
    """All lines of a file, the oldest first; none where there is no file."""
    return list(map(json.loads, path.read_text(encoding="utf-8").splitlines())) if path.exists() else []
