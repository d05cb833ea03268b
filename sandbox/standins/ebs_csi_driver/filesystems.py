"""File systems on a device: what is on it, format, check, grow."""

from __future__ import annotations

import fcntl
import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sandbox.standins.csi.commands import CommandError, run
from sandbox.standins.ebs_csi_driver import devices

DEFAULT_TYPE: Final = "ext4"
EXT_TYPES: Final = frozenset({"ext2", "ext3", "ext4"})
TYPES: Final = frozenset({"ext3", "ext4", "xfs", "ntfs"})
"""What upstream lets a volume ask for; only Windows can make the last."""

PROBE_TIMEOUT_S: Final = 30.0
FORMAT_TIMEOUT_S: Final = 600.0
CHECK_TIMEOUT_S: Final = 600.0
GROW_TIMEOUT_S: Final = 600.0

_BLKID_NOTHING: Final = 2
_BLKID_AMBIVALENT: Final = 8
_FSCK_UNCORRECTED: Final = 4
_EXT_SUPERBLOCK_OFFSET: Final = 1024
_EXT_MAGIC: Final = 0xEF53
_EXT_64BIT: Final = 0x80
_XFS_GEOMETRY_BYTES: Final = 112
_XFS_GEOMETRY: Final = 0x80705864
"""XFS_IOC_FSGEOMETRY_V1."""
_ROUNDING_BYTES: Final = 64 * 1024
"""A file system may be this much smaller than its device for its block size's sake."""


class FilesystemError(Exception):
    """The device's contents do not allow what was asked."""


@dataclass(frozen=True)
class Signature:
    """What a probe finds at the start of a device."""

    fs_type: str
    """The file system's type; "" when it is something else."""
    description: str


def probe(device: str) -> Signature | None:
    """What the device holds; None only when it was readable and holds nothing known. Raises CommandError, OSError."""
    # A device that cannot be read looks empty to blkid, and must never be taken for an empty one.
    with Path(device).open("rb") as raw:
        raw.read(4096)
    argv = ["blkid", "-p", "-s", "TYPE", "-s", "PTTYPE", "-o", "export", device]
    result = run(argv, timeout_s=PROBE_TIMEOUT_S, ok=(0, _BLKID_NOTHING, _BLKID_AMBIVALENT))
    if result.code == _BLKID_AMBIVALENT:
        return Signature("", "signatures of several kinds")
    if result.code == _BLKID_NOTHING:
        return None
    found = dict(line.split("=", 1) for line in result.output.splitlines() if "=" in line)
    if fs_type := found.get("TYPE"):
        return Signature(fs_type, f"a {fs_type} file system" if fs_type in TYPES else fs_type)
    return Signature("", f"a {found.get('PTTYPE', 'nameless')} partition table")


def make_if_empty(device: str, fs_type: str) -> bool:
    """Formats a device that holds nothing, and says whether it was; FilesystemError when it holds something else."""
    signature = probe(device)
    if signature is None:
        options = [] if fs_type == "xfs" else ["-F", "-m0"]
        run([f"mkfs.{fs_type}", *options, device], timeout_s=FORMAT_TIMEOUT_S)
        return True
    if signature.fs_type != fs_type:
        raise FilesystemError(
            f"{device} holds {signature.description} and {fs_type} is asked for: it is left untouched. Ask for the "
            "file system it has, or use another volume"
        )
    return False


def check(device: str, fs_type: str) -> None:
    """Fixes what a crash left, as `fsck -a` does; FilesystemError when it takes a person."""
    if fs_type not in EXT_TYPES:
        return  # xfs replays its log when it is mounted
    result = run(["fsck", "-a", device], timeout_s=CHECK_TIMEOUT_S, ok=range(256))
    if result.code & _FSCK_UNCORRECTED:
        raise FilesystemError(f"fsck found errors on {device} but could not correct them: {result.output}")


def size_of(device: str, mount_path: str, fs_type: str) -> int:
    """A mounted file system's size in bytes; FilesystemError, OSError."""
    return _xfs_size(mount_path) if fs_type == "xfs" else _ext_size(device)


def _xfs_size(mount_path: str) -> int:
    # The superblock on the device lags behind the mounted file system, which answers for itself.
    descriptor = os.open(mount_path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        geometry = fcntl.ioctl(descriptor, _XFS_GEOMETRY, bytes(_XFS_GEOMETRY_BYTES))
    finally:
        os.close(descriptor)
    (block_size,) = struct.unpack_from("=I", geometry, 0)
    (blocks,) = struct.unpack_from("=Q", geometry, 32)
    return int(block_size * blocks)


def _ext_size(device: str) -> int:
    with Path(device).open("rb") as raw:
        raw.seek(_EXT_SUPERBLOCK_OFFSET)
        head = raw.read(1024)
    (magic,) = struct.unpack_from("<H", head, 0x38)
    if magic != _EXT_MAGIC:
        raise FilesystemError(f"{device} has no ext superblock")
    (blocks,) = struct.unpack_from("<I", head, 0x4)
    (log_size,) = struct.unpack_from("<I", head, 0x18)
    (incompatible,) = struct.unpack_from("<I", head, 0x60)
    if incompatible & _EXT_64BIT:
        (high,) = struct.unpack_from("<I", head, 0x150)
        blocks += high << 32
    return int(blocks << (10 + log_size))


def grow_if_smaller(device: str, mount_path: str, fs_type: str) -> bool:
    """Grows a mounted file system to its device's size where that is larger, and says whether it was.

    CommandError, also where the kernel lets only a more privileged process do it; FilesystemError.
    """
    spare = devices.size_bytes(device) - size_of(device, mount_path, fs_type)
    if spare < _ROUNDING_BYTES:
        return False
    grow(device, mount_path, fs_type)
    return True


def grow(device: str, mount_path: str, fs_type: str) -> None:
    """Grows a mounted file system to its device's size; CommandError, FilesystemError."""
    if fs_type == "xfs":
        run(["xfs_growfs", "-d", mount_path], timeout_s=GROW_TIMEOUT_S)
        return
    if fs_type not in EXT_TYPES:
        raise FilesystemError(f"resize of format {fs_type} is not supported for device {device}")
    result = run(["resize2fs", device], timeout_s=GROW_TIMEOUT_S, ok=range(256))
    if result.code:
        raise CommandError(
            f"resize of device {device} failed: exit status {result.code}. resize2fs output: {result.output}"
        )
