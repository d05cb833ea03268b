"""Values of properties: own, inherited, by default or measured, and where they come from."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sandbox.standins.nas.properties import NATIVE, kind_of

if TYPE_CHECKING:
    from sandbox.standins.nas.layout import Nas

Entry = dict[str, Any]
"""A dataset: when it was made, its own properties, of what it is a clone, whether it goes with its last clone."""
State = dict[str, Entry]
"""Datasets by name."""


def value_of(nas: Nas, state: State, name: str, key: str) -> tuple[str, str]:
    """A property of a dataset that exists, and where it comes from."""
    if key == "name":
        return name, "-"
    kind, entry, native = kind_of(name), state[name], NATIVE.get(key)
    if native is not None and (native.read_only or kind not in native.of):
        return (_measured(nas, entry, name, key) if kind in native.of else "-"), "-"
    at = name
    while at:
        if key in state.get(at, {"properties": {}})["properties"]:
            return str(state[at]["properties"][key]), "local" if at == name else f"inherited from {at}"
        if native is not None and not native.inherited:
            break
        at = at.partition("@")[0] if "@" in at else at.rpartition("/")[0]
    return (native.default, "default") if native is not None else ("-", "-")


def _measured(nas: Nas, entry: Entry, name: str, key: str) -> str:
    known = {
        "type": kind_of(name),
        "creation": str(entry["creation"]),
        "origin": str(entry.get("origin", "-")),
        "defer_destroy": "on" if entry.get("deferred") else "off",
        "mountpoint": nas.mount_point(name),
        "mounted": "yes",
    }
    if key in known:
        return known[key]
    if key == "available":
        return str(_available(nas, entry, name))
    if key == "used" and "@" in name:
        return "0"
    return str(_size((nas.snapshots if "@" in name else nas.root) / name))


def _available(nas: Nas, entry: Entry, name: str) -> int:
    found = os.statvfs(nas.root)
    free = found.f_bavail * found.f_frsize
    quota = int(entry["properties"].get("refquota", 0))
    return min(free, max(0, quota - _size(nas.root / name))) if quota else free


def _size(folder: Path) -> int:
    total = 0
    for place, _, files in os.walk(folder):
        for file in files:
            with suppress(OSError):
                total += os.lstat(f"{place}/{file}").st_blocks * 512
    return total
