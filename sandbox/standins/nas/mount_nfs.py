"""`mount.nfs` of an instance: `python -m sandbox.standins.nas.mount_nfs FOLDER server:/path TARGET -o OPTIONS`.

mount(8) runs it for the file system types nfs and nfs4; the only server there is the sandbox's own.
"""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

from sandbox.machine.naming import FILE_SERVER_NAMES
from sandbox.machine.share_mounts import (
    EXIT_FAILED,
    KERNEL_OPTIONS,
    NFS_OPTIONS,
    MountError,
    Request,
    check_options,
    read,
)
from sandbox.standins.csi.mounts import mount_at
from sandbox.standins.nas import mount_protocol
from sandbox.standins.nas.layout import Nas


def mount(nas: Nas, request: Request) -> None:
    """Mounts a share; raises MountError for what the server does not have or does not export."""
    check_options(request, NFS_OPTIONS | KERNEL_OPTIONS)
    server, colon, path = request.source.partition(":")
    if not colon or not path.startswith("/"):
        raise MountError(f"remote share not in 'host:dir' format: {request.source}")
    if server not in FILE_SERVER_NAMES:
        raise MountError(f"Failed to resolve server {server}: Name or service not known")
    target = os.path.realpath(request.target)
    if not Path(target).is_dir():
        raise MountError(f"mount point {request.target} does not exist")
    # The kernel refuses to mount what is mounted there already.
    there = mount_at(target)
    if there is not None and there.source == request.source:
        raise MountError(f"{request.target} is busy or already mounted")
    try:
        mount_protocol.mount(nas.mount_socket, path, request.source, target, request.options)
    except mount_protocol.RefusedError as error:
        raise MountError(str(error)) from None
    except OSError as error:
        if error.errno in {errno.ENOENT, errno.ECONNREFUSED}:
            raise MountError(f"Connection refused: the file server {server} does not run") from None
        raise MountError(f"{request.source} cannot be mounted: {error.strerror}") from None


def main(arguments: list[str]) -> int:
    """Mount; the exit status."""
    try:
        mount(Nas(Path(arguments[0])), read(arguments[1:]))
    except MountError as error:
        print(f"mount.nfs: {error}", file=sys.stderr)
        return EXIT_FAILED
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
