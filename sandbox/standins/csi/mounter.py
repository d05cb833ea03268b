"""Mounts and unmounts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from sandbox.standins.csi import mounts
from sandbox.standins.csi.commands import run

MOUNT_TIMEOUT_S: Final = 60.0


def mount_device(device: str, path: str, fs_type: str, options: Sequence[str]) -> None:
    """Mounts a device's file system; raises CommandError."""
    argv = ["mount", "-t", fs_type]
    if options:
        argv += ["-o", ",".join(options)]
    run([*argv, device, path], timeout_s=MOUNT_TIMEOUT_S)


def bind(source: str, target: str, options: Sequence[str]) -> None:
    """Shows a folder or device file in a second place; raises CommandError and leaves nothing mounted then."""
    run(["mount", "--bind", source, target], timeout_s=MOUNT_TIMEOUT_S)
    if not options:
        return
    try:
        # The kernel takes a bind mount's own options only in a second step.
        run(["mount", "-o", ",".join(["remount", "bind", *options]), target], timeout_s=MOUNT_TIMEOUT_S)
    except BaseException:
        run(["umount", target], timeout_s=MOUNT_TIMEOUT_S)
        raise


def unmount(path: str) -> None:
    """Unmounts what is on top at a path; raises CommandError."""
    run(["umount", path], timeout_s=MOUNT_TIMEOUT_S)


def unmount_all(path: str) -> int:
    """Unmounts whatever is mounted at a path, also several things on top of each other; returns their number."""
    count = 0
    while mounts.mount_at(path) is not None:
        unmount(path)
        count += 1
    return count


def clean_up(path: str) -> None:
    """Unmounts what is at a path and removes the path itself; raises CommandError, OSError when it is not empty."""
    unmount_all(path)
    point = Path(path)
    if point.is_dir():
        point.rmdir()
    else:
        point.unlink(missing_ok=True)
