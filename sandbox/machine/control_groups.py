"""Control groups of an instance: a subtree of its own in every tree of the machine, which is all that it sees of them.

Nomad's agents, docker and a container's runtime all use fixed names below /sys/fs/cgroup. Instances that shared them
would remove, or write over, what another one's agents have just made.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import Final

from sandbox.machine.errors import CloudError
from sandbox.settings import SandboxSettings

_ROOT: Final = Path("/sys/fs/cgroup")
_PROCESSES: Final = "cgroup.procs"
# Version 2 hands these down from group to group; a group that does so may hold no process itself: those are in _LEAF.
_CONTROLLERS: Final = ("cpuset", "cpu", "io", "memory", "pids")
_LEAF: Final = "init"
# Version 1 lets no process into a group without them.
_INHERITED: Final = ("cpuset.cpus", "cpuset.mems")
# A sandbox competes with the machine's processes like ten of them, not like one.
_WEIGHTS: Final = {"cpu.shares": "10240", "cpu.weight": "1000"}
_JOIN: Final = 'for group in $0; do echo 0 >"$group/cgroup.procs"; done; exec "$@"'
_REMOVAL_TIMEOUT_S: Final = 5.0


def of_sandbox(settings: SandboxSettings) -> str:
    """Name of the group that holds those of the sandbox's instances."""
    return f"nomad-stateful-{settings.name}"


def of_instance(settings: SandboxSettings, instance_id: str) -> str:
    """Path of an instance's group below the root of every tree."""
    return f"{of_sandbox(settings)}/{instance_id}"


def make(path: str, root: Path = _ROOT) -> None:
    """Makes an instance's group in every tree.

    Raises:
        CloudError: the machine does not allow it.
    """
    try:
        for tree in _trees(root):
            _make_in(tree, path)
    except OSError as error:
        raise CloudError(
            f"the control group {path} cannot be made: {error.filename}: {error.strerror}. "
            f"Instances need /sys/fs/cgroup writable, and with version 2 its controllers {', '.join(_CONTROLLERS)}."
        ) from error


def entering(path: str, command: Sequence[str], root: Path = _ROOT) -> list[str]:
    """The words that run a command in the group and in a namespace whose root the group is."""
    groups = [tree / path for tree in _trees(root)]
    leaves = [group / _LEAF for group in groups if (group / _LEAF).is_dir()]
    inside = ["/bin/sh", "-ec", _JOIN, " ".join(map(str, leaves)), *command]
    return ["/bin/sh", "-ec", _JOIN, " ".join(map(str, groups)), "unshare", "--cgroup", "--", *inside]


def remove(path: str, root: Path = _ROOT, timeout_s: float = _REMOVAL_TIMEOUT_S) -> bool:
    """Removes a group with all below it from every tree; says whether there was one.

    Raises:
        CloudError: processes are left in it.
    """
    deadline = time.monotonic() + timeout_s
    there = False
    while groups := [tree / path for tree in _trees(root) if (tree / path).is_dir()]:
        there = True
        for group in groups:
            for folder, _, _ in os.walk(group, topdown=False):
                # Busy until the last of its processes is reaped.
                with contextlib.suppress(OSError):
                    Path(folder).rmdir()
        if not any(group.is_dir() for group in groups):
            break
        if time.monotonic() > deadline:
            pids = sorted({pid for group in groups for pid in _processes(group)})
            raise CloudError(
                f"the control group {path} cannot be removed: these processes are in it: "
                f"{', '.join(map(str, pids)) or 'none'}. End them and try again."
            )
        time.sleep(0.05)
    return there


def _make_in(tree: Path, path: str) -> None:
    version_2 = (tree / "cgroup.controllers").is_file()
    handed_down = _controllers(tree) if version_2 else ""
    above = tree
    for depth, name in enumerate(PurePath(path).parts):
        if handed_down:
            _write(above / "cgroup.subtree_control", handed_down)
        group = above / name
        group.mkdir(exist_ok=True)
        for file in _INHERITED:
            if not version_2 and (above / file).is_file():
                _write(group / file, (above / file).read_text(encoding="ascii"))
        for file, weight in _WEIGHTS.items():
            if depth == 0 and (group / file).is_file():
                _write(group / file, weight)
        above = group
    if version_2:
        (above / _LEAF).mkdir(exist_ok=True)


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="ascii")
    except OSError as error:
        # A refused write names no file.
        error.filename = str(file)
        raise


def _controllers(tree: Path) -> str:
    available = (tree / "cgroup.controllers").read_text(encoding="ascii").split()
    return " ".join(f"+{name}" for name in _CONTROLLERS if name in available)


def _trees(root: Path) -> list[Path]:
    """With version 1 there is a tree per controller (links are other names of them), with version 2 a single one."""
    if (root / _PROCESSES).is_file():
        return [root]
    found = sorted(root.iterdir()) if root.is_dir() else []
    return [path for path in found if not path.is_symlink() and (path / _PROCESSES).is_file()]


def _processes(group: Path) -> list[int]:
    found: list[int] = []
    for folder, _, _ in os.walk(group):
        with contextlib.suppress(OSError):
            found += map(int, (Path(folder) / _PROCESSES).read_text(encoding="ascii").split())
    return found
