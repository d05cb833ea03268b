"""EFS around moto's records: a file system is a folder of the machine, which instances of its zones may mount.

`<folder>/<fs id>/root` holds its files; beside it a file per mount target (`zones/<zone>`) and per access point
(`access-points/<id>`, holding the root directory's path) tells the instances' mount helper what there is.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

Original = Callable[..., Any]


def root(folder: Path, file_system_id: str) -> Path:
    """The files of a file system."""
    return folder / file_system_id / "root"


def zones(folder: Path, file_system_id: str) -> Path:
    """A file per zone that has a mount target."""
    return folder / file_system_id / "zones"


def access_points(folder: Path, file_system_id: str) -> Path:
    """A file per access point."""
    return folder / file_system_id / "access-points"


class ElasticFileSystem:
    """Stands around moto's own methods, which are handed in as `original`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def create_file_system(self, original: Original, backend: Any, *args: Any, **kwargs: Any) -> Any:
        """CreateFileSystem: it is empty, and root's."""
        made = original(backend, *args, **kwargs)
        for part in (root, zones, access_points):
            part(self._folder, made.file_system_id).mkdir(parents=True)
        root(self._folder, made.file_system_id).chmod(0o755)
        return made

    def delete_file_system(self, original: Original, backend: Any, file_system_id: str) -> None:
        """DeleteFileSystem: its files are gone."""
        original(backend, file_system_id)
        shutil.rmtree(self._folder / file_system_id)

    def create_mount_target(self, original: Original, backend: Any, *args: Any, **kwargs: Any) -> Any:
        """CreateMountTarget: instances of the zone can mount from now on."""
        made = original(backend, *args, **kwargs)
        (zones(self._folder, made.file_system_id) / made.availability_zone_name).touch()
        return made

    def delete_mount_target(self, original: Original, backend: Any, mount_target_id: str) -> None:
        """DeleteMountTarget: no new mounts in the zone; those that are there stay."""
        known = backend.mount_targets_by_id.get(mount_target_id)
        original(backend, mount_target_id)
        if known is not None:
            (zones(self._folder, known.file_system_id) / known.availability_zone_name).unlink(missing_ok=True)

    def create_access_point(self, original: Original, backend: Any, *args: Any, **kwargs: Any) -> Any:
        """CreateAccessPoint: its root directory is made with the owner it asks for."""
        made = original(backend, *args, **kwargs)
        path = str(made.root_directory.get("Path") or "/")
        (access_points(self._folder, made.file_system_id) / made.access_point_id).write_text(path, encoding="utf-8")
        creation = made.root_directory.get("CreationInfo")
        if creation:
            _make(root(self._folder, made.file_system_id) / path.lstrip("/"), creation)
        return made

    def delete_access_point(self, original: Original, backend: Any, access_point_id: str) -> None:
        """DeleteAccessPoint: the files stay."""
        original(backend, access_point_id)
        for file in self._folder.glob(f"*/access-points/{access_point_id}"):
            file.unlink()


def _make(folder: Path, creation: Mapping[str, Any]) -> None:
    if folder.exists():
        return
    folder.mkdir(parents=True)
    folder.chmod(int(str(creation["Permissions"]), 8))
    os.chown(folder, int(creation["OwnerUid"]), int(creation["OwnerGid"]))
