"""What the node does with a volume's device: stage, publish, measure, grow."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sandbox.standins.csi import logs, mounter, mounts
from sandbox.standins.csi.commands import CommandError
from sandbox.standins.ebs_csi_driver import devices, filesystems
from sandbox.standins.ebs_csi_driver.filesystems import FilesystemError

# A mount whose device is gone answers stat with one of these.
_DEAD_MOUNT: Final = frozenset({errno.EIO, errno.ENOTCONN, errno.ESTALE, errno.ENODEV, errno.ENXIO, errno.EUCLEAN})


class GrowthError(Exception):
    """A mounted file system could not be grown."""

    def __init__(self, device: str, cause: Exception) -> None:
        super().__init__(str(cause))
        self.device = device


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


def stage(device: str, target: str, fs_type: str, options: Sequence[str]) -> None:
    """Mounts the device at the staging path, formatting it when it is empty and growing it, mounted, when it is small.

    Done already is fine. What cannot be grown stays mounted, as upstream. Raises GrowthError, CommandError,
    FilesystemError, OSError.
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
    if filesystems.make_if_empty(device, fs_type):
        logs.info("Formatted", device=device, fstype=fs_type)
    else:
        filesystems.check(device, fs_type)
    mounter.mount_device(device, target, fs_type, options)
    try:
        if filesystems.grow_if_smaller(device, target, fs_type):
            logs.info("Grown to the size of its device", device=device, fstype=fs_type)
    except (CommandError, FilesystemError) as error:
        raise GrowthError(device, error) from None


def unstage(target: str) -> None:
    """Unmounts the staging path; not staged is fine. Raises CommandError, OSError."""
    mounter.clean_up(target)


def publish_filesystem(staging: str, target: str, options: Sequence[str], *, read_only: bool) -> None:
    """Shows the staged file system at the target; a target that is mounted already stays. CommandError, OSError."""
    _drop_dead_mount(target)
    Path(target).mkdir(parents=True, exist_ok=True)
    if mounts.mount_at(target) is None:
        mounter.bind(staging, target, _bind_options(options, read_only=read_only))


def publish_block(device: str, target: str, *, read_only: bool) -> None:
    """Shows the device itself as a file at the target; one that is there already stays. CommandError, OSError."""
    point = Path(target)
    if mounts.mount_at(target) is not None:
        return
    point.parent.mkdir(parents=True, exist_ok=True)
    point.touch(mode=0o640)
    try:
        mounter.bind(device, target, _bind_options([], read_only=read_only))
    except BaseException:
        point.unlink(missing_ok=True)
        raise


def unpublish(target: str) -> None:
    """Takes the target away; not published is fine. Raises CommandError, OSError."""
    mounter.clean_up(target)


def _bind_options(options: Sequence[str], *, read_only: bool) -> list[str]:
    wanted = [*(["ro"] if read_only else []), *options]
    # These belong to the file system, which the staging mount has them from.
    return [option for option in dict.fromkeys(wanted) if option not in {"bind", "nouuid", "rw"}]


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
    """Grows the file system of a device that is mounted at a path, and gives the device's size in bytes.

    Raises GrowthError, CommandError, OSError.
    """
    signature = filesystems.probe(device)
    try:
        filesystems.grow(device, path, signature.fs_type if signature else "")
    except (CommandError, FilesystemError) as error:
        raise GrowthError(device, error) from None
    return devices.size_bytes(device)
