"""The project's name; the stack's file: its salt, which comes and goes with the sandbox's passphrase, its images."""

from __future__ import annotations

import re
from pathlib import Path

_IMAGE_LINE = re.compile(r"^ +image: *([^ #\n]+)", re.MULTILINE)
_NAME_LINE = re.compile(r"^name: *['\"]?([\w.-]+)", re.MULTILINE)
_SECRETS = re.compile(r"^( +(- +)?secure|secretsprovider|encryptedkey):", re.MULTILINE)
_SALT_LINE = re.compile(r"^encryptionsalt:.*\n?", re.MULTILINE)


def project_name(folder: Path) -> str:
    """The project's name as its Pulumi.yaml has it, empty where there is none."""
    path = folder / "Pulumi.yaml"
    found = _NAME_LINE.search(path.read_text(encoding="utf-8")) if path.is_file() else None
    return found[1] if found else ""


def has_foreign_secrets(path: Path, salt: str) -> bool:
    """Whether the file has secrets, or a provider of them, that are not of this salt."""
    text = path.read_text(encoding="utf-8")
    return _SECRETS.search(text) is not None and (not salt or read_salt(path) != salt)


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


def images(path: Path) -> list[str]:
    """Returns the names of the images that a stack's file names; none where there is no file."""
    return _IMAGE_LINE.findall(path.read_text(encoding="utf-8")) if path.is_file() else []
