"""Finds the block device of a volume, and reads its size."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

BY_ID_DIR: Final = Path("/dev/disk/by-id")
LINK_PREFIX: Final = "nvme-Amazon_Elastic_Block_Store_"


class DeviceNotFoundError(Exception):
    """The node has no block device for the volume."""


def is_block_device(path: str | Path) -> bool:
    """Whether the path leads to a block device; raises OSError when it leads nowhere."""
    return stat.S_ISBLK(Path(path).stat().st_mode)


def link_name(volume_id: str) -> str:
    """The name udev gives a volume's NVMe device: the volume's id without its dash."""
    return LINK_PREFIX + volume_id.replace("-", "")


class DeviceFinder:
    """Looks a volume's device up by the name EC2 attached it under, else by its NVMe link."""

    def __init__(self, by_id_dir: Path = BY_ID_DIR) -> None:
        self._by_id_dir = by_id_dir

    def find(self, volume_id: str, device_path: str = "") -> str:
        """The device's real path; DeviceNotFoundError."""
        return self._named(device_path) or self._linked(volume_id, device_path)

    def _named(self, device_path: str) -> str | None:
        """Instances without NVMe show the volume under the very name it was attached with."""
        if device_path and Path(device_path).exists() and is_block_device(device_path):
            return os.path.realpath(device_path)
        return None

    def _linked(self, volume_id: str, device_path: str) -> str:
        link = self._by_id_dir / link_name(volume_id)
        if not link.is_symlink():
            raise DeviceNotFoundError(f"neither {device_path or 'a device name'} nor {link} exists on this node")
        target = os.path.realpath(link)
        if not Path(target).exists() or not is_block_device(target):
            raise DeviceNotFoundError(f"{link} leads to {target}, which is no block device")
        return target


def size_bytes(device: str) -> int:
    """The device's size in bytes; raises OSError."""
    descriptor = os.open(device, os.O_RDONLY)
    try:
        return os.lseek(descriptor, 0, os.SEEK_END)
    finally:
        os.close(descriptor)


def number(device: str) -> tuple[int, int]:
    """The device's major and minor number; raises OSError."""
    found = Path(device).stat().st_rdev
    return os.major(found), os.minor(found)
