"""What the node does with a volume's device: stage, publish, measure, grow."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sandbox.csi import logs, mounter, mounts

from . import devices, filesystems
from .filesystems import OnlineGrowthRefusedError

# A mount whose device is gone answers stat with one of these.
_DEAD_MOUNT: Final = frozenset({errno.EIO, errno.ENOTCONN, errno.ESTALE, errno.ENODEV, errno.ENXIO, errno.EUCLEAN})


class PublishConflictError(Exception):
    """The target is in use in another way than asked."""


@dataclass(frozen=True)
class Usage:
    """How full a volume is; inodes are None for a raw device, and so is what only a file system knows."""

    total_bytes: int
    used_bytes: int | None = None
    available_bytes: int | None = None
    inodes: int | None = None
    inodes_used: int | None = None
    inodes_free: int | None = None


def mount_options(fs_type: str, flags: Sequence[str]) -> list[str]:
    """The mount flags without repetition; xfs gets nouuid, so that a volume and its copy can be on one node."""
    options = list(dict.fromkeys(flags))
    if fs_type == "xfs" and "nouuid" not in options:
        options.append("nouuid")
    return options


def stage(
    device: str,
    target: str,
    fs_type: str,
    options: Sequence[str],
    format_context: Mapping[str, str],
    *,
    legacy_xfs: bool,
) -> None:
    """Mount the device at the staging path, formatting it when it is empty and growing it when it is small.

    Done already is fine. Raises CommandError, FilesystemError, OSError.
    """
    _drop_dead_mount(target)
    Path(target).mkdir(parents=True, exist_ok=True)
    staged = mounts.mount_at(target)
    if staged is not None and staged.device == devices.number(device):
        logs.info("Volume is already staged", level=4, device=device, target=target)
        return
    if staged is not None:
        # The volume came back as another device while the old one was still mounted, say after a forced detach.
        logs.warning("Unmounting a stale device", target=target, stale=staged.source, device=device)
        mounter.unmount_all(target)
    arguments = filesystems.format_arguments(fs_type, format_context, legacy_xfs=legacy_xfs)
    if filesystems.make_if_empty(device, fs_type, arguments):
        logs.info("Formatted", device=device, fstype=fs_type)
    else:
        filesystems.check(device, fs_type)
    mounter.mount_device(device, target, fs_type, options)
    if "ro" not in options:
        _grow_staged(device, target, fs_type, options)


def _grow_staged(device: str, target: str, fs_type: str, options: Sequence[str]) -> None:
    """Grow what was just mounted; where the kernel refuses that, nobody uses it yet and it can be taken off for it."""
    try:
        if filesystems.grow_if_smaller(device, target, fs_type):
            logs.info("Grown to the size of its device", device=device, fstype=fs_type)
    except OnlineGrowthRefusedError:
        mounter.unmount_all(target)
        filesystems.grow_unmounted(device)
        mounter.mount_device(device, target, fs_type, options)
        logs.info("Grown to the size of its device while unmounted", device=device, fstype=fs_type)


def unstage(target: str) -> None:
    """Unmount the staging path; not staged is fine. Raises CommandError, OSError."""
    mounter.clean_up(target)


def publish_filesystem(staging: str, target: str, options: Sequence[str], *, read_only: bool) -> None:
    """Show the staged file system at the target. Raises PublishConflictError, CommandError, OSError."""
    staged = mounts.mount_at(staging)
    if staged is None:
        raise PublishConflictError(f"nothing is staged at {staging}: the volume has to be staged first")
    _drop_dead_mount(target)
    Path(target).mkdir(parents=True, exist_ok=True)
    if _published(target, staged.device, read_only=read_only):
        return
    mounter.bind(staging, target, _bind_options(options, read_only=read_only))


def publish_block(device: str, target: str, *, read_only: bool) -> None:
    """Show the device itself as a file at the target. Raises PublishConflictError, CommandError, OSError."""
    point = Path(target)
    if mounts.mount_at(target) is not None:
        if devices.is_block_device(target) and devices.number(target) == devices.number(device):
            return
        raise PublishConflictError(f"another device is published at {target}")
    point.parent.mkdir(parents=True, exist_ok=True)
    point.touch(mode=0o640)
    try:
        mounter.bind(device, target, _bind_options([], read_only=read_only))
    except BaseException:
        point.unlink(missing_ok=True)
        raise


def unpublish(target: str) -> None:
    """Take the target away; not published is fine. Raises CommandError, OSError."""
    mounter.clean_up(target)


def _bind_options(options: Sequence[str], *, read_only: bool) -> list[str]:
    wanted = [*(["ro"] if read_only else []), *options]
    # These belong to the file system, which the staging mount has them from.
    return [option for option in dict.fromkeys(wanted) if option not in {"bind", "nouuid", "rw"}]


def _published(target: str, device: tuple[int, int], *, read_only: bool) -> bool:
    there = mounts.mount_at(target)
    if there is None:
        return False
    if there.device != device:
        raise PublishConflictError(f"another volume is published at {target}")
    if there.read_only != read_only:
        raise PublishConflictError(f"the volume is published at {target} as {'ro' if there.read_only else 'rw'}")
    return True


def _drop_dead_mount(target: str) -> None:
    try:
        Path(target).stat()
    except OSError as error:
        if error.errno in _DEAD_MOUNT:
            logs.warning("Unmounting a dead target", target=target, reason=error)
            mounter.unmount_all(target)


def usage(path: str) -> Usage:
    """How full the volume at a path is. Raises FileNotFoundError, OSError."""
    if devices.is_block_device(path):
        return Usage(total_bytes=devices.size_bytes(path))
    found = os.statvfs(path)
    return Usage(
        total_bytes=found.f_blocks * found.f_frsize,
        used_bytes=(found.f_blocks - found.f_bfree) * found.f_frsize,
        available_bytes=found.f_bavail * found.f_frsize,
        inodes=found.f_files,
        inodes_used=found.f_files - found.f_ffree,
        inodes_free=found.f_ffree,
    )


def expand(path: str, device: str) -> int:
    """Grow the file system mounted at a path to its device's size, and give that size in bytes.

    Raises PublishConflictError when nothing of the device is mounted there; CommandError, FilesystemError, OSError.
    """
    there = mounts.mount_at(path)
    if there is None or there.device != devices.number(device):
        raise PublishConflictError(f"{device} is not mounted at {path}")
    filesystems.grow_if_smaller(device, path, there.fs_type)
    return devices.size_bytes(device)
