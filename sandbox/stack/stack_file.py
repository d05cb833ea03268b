"""The salt in the stack's configuration file: it belongs to the sandbox's passphrase, so it comes and goes with it."""

from __future__ import annotations

import re
from pathlib import Path

_SALT_LINE = re.compile(r"^encryptionsalt:.*\n?", re.MULTILINE)


def read_salt(path: Path) -> str:
    """The file's salt, empty when it has none."""
    found = _SALT_LINE.search(path.read_text(encoding="utf-8"))
    return found.group().partition(":")[2].strip() if found else ""


def put_salt(path: Path, salt: str) -> None:
    """Sets the file's salt (empty: takes it out) and leaves every other line as it is."""
    before = path.read_text(encoding="utf-8")
    after = _SALT_LINE.sub("", before)
    if salt:
        after = f"{after.rstrip()}\nencryptionsalt: {salt}\n"
    if after == before:
        return
    fresh = path.with_name(f".{path.name}.new")
    fresh.write_text(after, encoding="utf-8")
    fresh.chmod(path.stat().st_mode)
    fresh.replace(path)
