"""`mount.efs` of an instance: `python -m sandbox.cloud.mount_efs FOLDER ZONE fs-…:/path TARGET -o OPTIONS`.

mount(8) runs it for the file system type efs, as it runs efs-utils' program of that name on an EC2 instance.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from sandbox.cloud.efs import access_points, is_access_point, root, zones
from sandbox.machine.share_mounts import MountError, Request, inside, run

_EFS_OPTIONS: Final = frozenset(
    {
        *("tls", "notls", "tlsport", "iam", "accesspoint", "awsprofile", "awscredsuri", "az", "mounttargetip"),
        *("crossaccount", "region", "ocsp", "noocsp", "verify", "netns", "rolearn", "jwtpath", "cafile"),
        *("fsap", "stunnel"),
    }
)


def folder(base: Path, zone: str, request: Request) -> Path:
    """The folder to mount; raises MountError for what the region does not know or this zone does not reach."""
    file_system, _, path = request.source.partition(":")
    if not root(base, file_system).is_dir():
        raise MountError(
            f'Failed to resolve "{file_system}.efs": the file system does not exist. Make it with CreateFileSystem, '
            "or name one that exists"
        )
    if "mounttargetip" not in request.options and not (zones(base, file_system) / zone).exists():
        raise MountError(
            f'Failed to resolve "{file_system}.efs": the file system has no mount target in {zone}. '
            "Make one with CreateMountTarget in a subnet of that zone"
        )
    top = root(base, file_system)
    access_point = request.options.get("accesspoint", "")
    if access_point:
        if "tls" not in request.options:
            raise MountError('The "tls" option is required when mounting via "accesspoint"')
        note = access_points(base, file_system) / access_point
        if not is_access_point(access_point) or not note.is_file():
            raise MountError(f"access denied by server: {file_system} has no access point {access_point}")
        top = inside(top, note.read_text(encoding="utf-8"))
    if "iam" in request.options and "tls" not in request.options:
        raise MountError('The "tls" option is required when mounting via "iam"')
    found = inside(top, path)
    # A link that some client made leads nowhere: a server looks for folders of its own.
    if not found.is_dir() or not found.resolve().is_relative_to(root(base, file_system).resolve()):
        raise MountError(f"mounting {request.source} failed, reason given by server: No such file or directory")
    return found


def main(arguments: list[str]) -> int:
    """Mount; the exit status."""
    base, zone = Path(arguments[0]), arguments[1]
    return run("mount.efs", arguments[2:], _EFS_OPTIONS, lambda request: folder(base, zone, request))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
