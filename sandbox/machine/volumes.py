"""The bytes of volumes and snapshots: sparse files."""

from __future__ import annotations

import os
from pathlib import Path

from sandbox.machine import naming
from sandbox.machine.commands import run
from sandbox.machine.errors import CloudError

GIB = 1 << 30


class VolumeStore:
    """Keeps one sparse image per volume and per snapshot in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def image(self, resource_id: str) -> Path:
        """Where the bytes of a volume or snapshot are; CloudError for what is the id of neither."""
        if not naming.is_disk_id(resource_id):
            raise CloudError(f"{resource_id!r} is not the id of a volume or snapshot")
        return self._folder / f"{resource_id}.img"

    def ensure(self, volume_id: str, size_gib: int) -> Path:
        """The image of a volume, made empty if there is none and never made smaller."""
        path = self.image(volume_id)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            if os.fstat(descriptor).st_size < size_gib * GIB:
                os.ftruncate(descriptor, size_gib * GIB)
        finally:
            os.close(descriptor)
        return path

    def copy(self, source_id: str, target_id: str) -> None:
        """Copies a volume to a snapshot or the other way round; a source without bytes gives an empty copy."""
        source = self.image(source_id)
        if source.exists():
            run("cp", "--reflink=auto", "--sparse=always", source, self.image(target_id), timeout_s=600)

    def remove(self, resource_id: str) -> None:
        """Frees the bytes of a volume or snapshot."""
        self.image(resource_id).unlink(missing_ok=True)
