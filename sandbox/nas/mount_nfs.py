"""`mount.nfs` of an instance: `python -m sandbox.nas.mount_nfs FOLDER server:/path TARGET -o OPTIONS`.

mount(8) runs it for the file system types nfs and nfs4; the only server there is the sandbox's own.
"""

from __future__ import annotations

import sys
from pathlib import Path

from sandbox.ec2.share_mounts import MountError, Request, inside, run
from sandbox.nas.layout import NAMES, Nas
from sandbox.nas.zfs import Pool


def folder(nas: Nas, request: Request) -> Path:
    """The folder to mount; raises MountError for what the server does not have or does not export."""
    server, _, path = request.source.partition(":")
    if server not in NAMES:
        raise MountError(f"Failed to resolve server {server}: Name or service not known")
    pool = Pool(nas)
    dataset = pool.dataset_of(path)
    if not dataset or pool.value(dataset, "sharenfs") == "off":
        raise MountError(f"access denied by server while mounting {request.source}")
    found = inside(nas.root, path)
    if not found.is_dir():
        raise MountError(f"mounting {request.source} failed, reason given by server: No such file or directory")
    return found


def main(arguments: list[str]) -> int:
    """Mount; the exit status."""
    nas = Nas(Path(arguments[0]))
    return run("mount.nfs", arguments[1:], frozenset(), lambda request: folder(nas, request))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
