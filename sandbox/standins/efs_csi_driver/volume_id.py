"""What a volume id names: a file system, a folder in it, an access point."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from sandbox.standins.csi import logs
from sandbox.standins.csi.errors import invalid

_FILE_SYSTEM: Final = re.compile(r"fs-[0-9a-f]{8,40}")
_ACCESS_POINT: Final = re.compile(r"fsap-[0-9a-f]{8,40}")
_BOOLEANS: Final = {"true": True, "1": True, "t": True, "false": False, "0": False, "f": False}


@dataclass(frozen=True)
class Share:
    """What to mount, and how."""

    source: str
    """`fs-…:/path`."""
    options: tuple[str, ...]


def parse(volume_id: str) -> tuple[str, str, str]:
    """File system, path and access point of `fs-…[:[path][:fsap-…]]`, the latter two empty where not named."""
    parts = volume_id.split(":")
    if len(parts) > 3:
        raise invalid(f"volume ID '{volume_id}' is invalid: Expected at most three fields separated by ':'")
    file_system, path, access_point = (*parts, "", "")[:3]
    if not _FILE_SYSTEM.fullmatch(file_system):
        raise invalid(f"volume ID '{volume_id}' is invalid: Expected a file system ID of the form 'fs-...'")
    if access_point and not _ACCESS_POINT.fullmatch(access_point):
        raise invalid(f"volume ID '{volume_id}' has an invalid access point ID '{access_point}': use 'fsap-...'")
    return file_system, posixpath.normpath(path) if path else "", access_point


def share(volume_id: str, context: Mapping[str, str], mount_flags: list[str], *, read_only: bool) -> Share:
    """What a request asks to be mounted; INVALID_ARGUMENT for what cannot be understood."""
    file_system, path, access_point = parse(volume_id)
    options: list[str] = []
    subpath, encrypt = "/", True
    for key, value in context.items():
        lowered = key.lower()
        if lowered == "path":
            logs.warning("Use of path under volumeAttributes is deprecated: write it into the volume ID", path=value)
            if not value.startswith("/"):
                raise invalid(f'Volume context property "{key}" must be an absolute path')
            subpath = posixpath.normpath(value)
        elif lowered == "encryptintransit":
            if value.lower() not in _BOOLEANS:
                raise invalid(f'Volume context property "{key}" must be a boolean value: it is {value!r}')
            encrypt = _BOOLEANS[value.lower()]
        elif lowered in {"mounttargetip", "az", "crossaccount"}:
            options.append(f"{lowered}={value}")
        elif lowered != "storage.kubernetes.io/csiprovisioneridentity":
            raise invalid(f"Volume context property {key} not supported")
    options += _flags(mount_flags, access_point, encrypt=encrypt)
    if read_only:
        options.append("ro")
    return Share(f"{file_system}:{path or subpath}", tuple(dict.fromkeys(options)))


def _flags(mount_flags: list[str], access_point: str, *, encrypt: bool) -> list[str]:
    options = [f"accesspoint={access_point}"] if access_point else []
    if encrypt:
        options.append("tls")
    for flag in mount_flags:
        if flag == "tls" and not encrypt:
            raise invalid("Found tls in mountOptions but encryptInTransit is false: drop one of them")
        if flag.startswith("awscredsuri"):
            raise invalid("Found awscredsuri in mountOptions: it is set by the driver alone")
        if flag.startswith("accesspoint="):
            named = flag.partition("=")[2]
            if access_point and named != access_point:
                raise invalid(
                    f"Found conflicting access point IDs in mountOptions ({named}) and volume ID ({access_point})"
                )
            logs.warning("Use of 'accesspoint' under mountOptions is deprecated: write it into the volume ID")
        options.append(flag)
    return options
