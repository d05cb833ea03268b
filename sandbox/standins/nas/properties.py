"""Properties of datasets: the native ones, who has them, what they are by default, and how they are written."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

FILESYSTEM: Final = "filesystem"
SNAPSHOT: Final = "snapshot"


def kind_of(name: str) -> str:
    """Whether a name is a snapshot's or a file system's."""
    return SNAPSHOT if "@" in name else FILESYSTEM


class ZfsError(Exception):
    """What the command prints before it ends with 1."""


class UsageError(Exception):
    """What the command prints before it ends with 2."""


@dataclass(frozen=True)
class Native:
    """A property that the file system itself knows."""

    default: str = ""
    """Value that a dataset has unless it is set; empty for what is measured."""
    inherited: bool = False
    size: bool = False
    read_only: bool = False
    of: frozenset[str] = frozenset({FILESYSTEM})


_BOTH: Final = frozenset({FILESYSTEM, SNAPSHOT})
_MEASURED: Final = Native(size=True, read_only=True, of=_BOTH)
NATIVE: Final = {
    "type": Native(read_only=True, of=_BOTH),
    "creation": Native(read_only=True, of=_BOTH),
    "used": _MEASURED,
    "available": Native(size=True, read_only=True),
    "referenced": _MEASURED,
    "logicalused": Native(size=True, read_only=True),
    "logicalreferenced": _MEASURED,
    "origin": Native(read_only=True),
    "defer_destroy": Native(read_only=True, of=frozenset({SNAPSHOT})),
    "mountpoint": Native(read_only=True),
    "mounted": Native(read_only=True),
    "quota": Native("0", size=True),
    "refquota": Native("0", size=True),
    "reservation": Native("0", size=True),
    "refreservation": Native("0", size=True),
    "volsize": Native(size=True, of=frozenset()),
    "volblocksize": Native(size=True, of=frozenset()),
    "recordsize": Native("131072", inherited=True, size=True),
    "sharenfs": Native("off", inherited=True),
    "sharesmb": Native("off", inherited=True),
    "compression": Native("on", inherited=True),
    "checksum": Native("on", inherited=True),
    "dedup": Native("off", inherited=True),
    "atime": Native("on", inherited=True),
    "relatime": Native("on", inherited=True),
    "readonly": Native("off", inherited=True),
    "sync": Native("standard", inherited=True),
    "snapdir": Native("hidden", inherited=True),
    "acltype": Native("off", inherited=True),
    "aclmode": Native("discard", inherited=True),
    "aclinherit": Native("restricted", inherited=True),
    "xattr": Native("on", inherited=True),
    "casesensitivity": Native("sensitive"),
    "canmount": Native("on"),
}
"""What the drivers of this project's documents ask for or set, of OpenZFS 2's own properties."""

_ALIASES: Final = {"avail": "available", "refer": "referenced", "compress": "compression", "recsize": "recordsize"}
_UNITS: Final = "BKMGTPE"
_SIZE: Final = re.compile(rf"(\d+(?:\.\d+)?)([{_UNITS}]?)B?", re.IGNORECASE)


def full_name(word: str) -> str:
    """A property's own name, as commands print it; UsageError for none."""
    name = _ALIASES.get(word, word)
    if name != "name" and name not in NATIVE and not is_user(name):
        raise UsageError(f"bad property list: invalid property '{word}'")
    return name


def is_user(name: str) -> bool:
    """Whether a property is the user's own."""
    return ":" in name


def checked(dataset: str, name: str, value: str, kind: str) -> str:
    """The value to keep; ZfsError where it cannot be set."""
    doing = f"cannot set property for '{dataset}'"
    if is_user(name):
        return value
    known = NATIVE.get(_ALIASES.get(name, name))
    if known is None:
        raise ZfsError(f"{doing}: invalid property '{name}'")
    if known.read_only and name != "mountpoint":
        raise ZfsError(f"{doing}: '{name}' is readonly")
    if kind == SNAPSHOT:
        raise ZfsError(f"{doing}: this property can not be modified for snapshots")
    if name == "mountpoint":
        raise ZfsError(f"{doing}: the sandbox's file server mounts every dataset by its name")
    if not known.size:
        return value
    match = _SIZE.fullmatch(value)
    if value != "none" and match is None:
        raise ZfsError(f"{doing}: bad numeric value '{value}'")
    if match is None:
        return "0"
    return str(int(float(match[1]) * 1024 ** _UNITS.index(match[2].upper() or "B")))
