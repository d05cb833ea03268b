"""Control groups that Nomad's clients leave behind: instances share the machine's, so they outlive the instances."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_ROOT: Final = Path("/sys/fs/cgroup")
# With version 1 there is a tree per controller, with version 2 a single one.
_PARENTS: Final = ("nomad", "nomad.slice")
_PARTITIONS: Final = ("share", "reserve", "share.slice", "reserve.slice")
_ALLOCATION: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.")


def allocations(instance_dir: Path) -> set[str]:
    """Ids of the allocations that the instances' clients have had."""
    return {path.name for path in instance_dir.glob("*/disk/nomad/alloc/*")}


def remove_left(allocation_ids: set[str], root: Path = _ROOT, timeout_s: float = 3.0) -> int:
    """Removes the groups of these allocations' tasks, which have been killed; returns their number.

    Nomad's own parent groups go too when nothing is left in them. The kernel refuses to remove a group in use.
    """
    deadline = time.monotonic() + timeout_s
    removed = 0
    while ours := [path for path in _task_groups(root) if path.name.partition(".")[0] in allocation_ids]:
        for path in ours:
            # Busy until the last of its processes is reaped.
            with contextlib.suppress(OSError):
                path.rmdir()
                removed += 1
        if time.monotonic() > deadline:
            break
        time.sleep(0.05)
    if not _task_groups(root):
        _remove_parents(root)
    return removed


def remove_tree(name: str, root: Path = _ROOT, timeout_s: float = 3.0) -> int:
    """Removes a group with all below it, in every tree there is; returns how many groups below it there were."""
    deadline = time.monotonic() + timeout_s
    removed = 0
    while found := [tree / name for tree in _trees(root) if (tree / name).is_dir()]:
        for top in found:
            below = sorted((path for path in top.rglob("*") if path.is_dir()), key=lambda path: -len(path.parts))
            for path in (*below, top):
                with contextlib.suppress(OSError):
                    path.rmdir()
                    removed += path != top
        if time.monotonic() > deadline:
            break
        time.sleep(0.05)
    return removed


def _remove_parents(root: Path) -> None:
    for parent in _parents(root):
        for folder in (*(parent / partition for partition in _PARTITIONS), parent):
            with contextlib.suppress(OSError):
                folder.rmdir()


def _trees(root: Path) -> list[Path]:
    return [root, *(path for path in sorted(root.iterdir()) if path.is_dir())] if root.is_dir() else []


def _parents(root: Path) -> Iterator[Path]:
    for tree in _trees(root):
        for name in _PARENTS:
            if (tree / name).is_dir():
                yield tree / name


def _task_groups(root: Path) -> list[Path]:
    found = []
    for parent in _parents(root):
        for folder in (parent, *(parent / partition for partition in _PARTITIONS)):
            if folder.is_dir():
                found += [path for path in folder.iterdir() if path.is_dir() and _ALLOCATION.match(path.name)]
    return found
