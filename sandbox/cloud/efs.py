"""EFS around moto's records: a file system is a folder of the machine, which instances of its zones may mount.

`<folder>/<fs id>/root` holds its files; beside it a file per mount target (`zones/<zone>`) and per access point
(`access-points/<id>`, holding the root directory's path) tells the instances' mount helper what there is.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

Original = Callable[..., Any]

_FILE_SYSTEM: Final = re.compile(r"fs-[0-9a-f]{8,40}")
_ACCESS_POINT: Final = re.compile(r"fsap-[0-9a-f]{8,40}")
# https://docs.aws.amazon.com/efs/latest/ug/API_RootDirectory.html
_PATH: Final = re.compile(r"/|(/(?!\.)[^$#<>;`|&?{}^*/\n]+){1,4}")
_MAX_PATH: Final = 100
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def root(folder: Path, file_system_id: str) -> Path:
    """The files of a file system."""
    return _home(folder, file_system_id) / "root"


def zones(folder: Path, file_system_id: str) -> Path:
    """A file per zone that has a mount target."""
    return _home(folder, file_system_id) / "zones"


def access_points(folder: Path, file_system_id: str) -> Path:
    """A file per access point."""
    return _home(folder, file_system_id) / "access-points"


def is_access_point(text: str) -> bool:
    """Whether it is the id of an access point."""
    return _ACCESS_POINT.fullmatch(text) is not None


def _home(folder: Path, file_system_id: str) -> Path:
    # What is not an id has no folder, whatever it would be as a path.
    return folder / (file_system_id if _FILE_SYSTEM.fullmatch(file_system_id) else "none")


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
        shutil.rmtree(_home(self._folder, file_system_id))

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
        # Not above: the mount helper in a container's image has none of these modules.
        from sandbox.machine.errors import ApiError

        asked = kwargs.get("root_directory")
        path = str((asked or {}).get("Path") or "/")
        if len(path) > _MAX_PATH or not _PATH.fullmatch(path):
            raise ApiError("BadRequest", f"invalid value for the parameter Path: {path!r}")
        made = original(backend, *args, **kwargs)
        (access_points(self._folder, made.file_system_id) / made.access_point_id).write_text(path, encoding="utf-8")
        creation = made.root_directory.get("CreationInfo")
        if creation:
            _make(root(self._folder, made.file_system_id), path, creation)
        return made

    def delete_access_point(self, original: Original, backend: Any, access_point_id: str) -> None:
        """DeleteAccessPoint: the files stay."""
        original(backend, access_point_id)
        for file in self._folder.glob(f"*/access-points/{access_point_id}"):
            file.unlink()


def _make(root_folder: Path, path: str, creation: Mapping[str, Any]) -> None:
    """Makes a folder in a file system, step by step: clients write there, and a link of theirs leads nowhere.

    Raises:
        CloudError: a part of the path is something else than a folder.
    """
    from sandbox.machine.errors import CloudError

    here = os.open(root_folder, _FOLDER)
    made = False
    try:
        for part in filter(None, path.split("/")):
            with contextlib.suppress(FileExistsError):
                os.mkdir(part, dir_fd=here)
                made = True
            there = os.open(part, _FOLDER, dir_fd=here)
            os.close(here)
            here = there
        if made:
            os.fchmod(here, int(str(creation["Permissions"]), 8))
            os.fchown(here, int(creation["OwnerUid"]), int(creation["OwnerGid"]))
    except OSError as error:
        raise CloudError(f"{path} cannot be made in the file system: {error.strerror}") from error
    finally:
        os.close(here)
