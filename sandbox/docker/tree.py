"""A layer's folder as the tar that an image holds."""

from __future__ import annotations

import contextlib
import os
import stat
import subprocess
from pathlib import Path

from tools.toolchain.cache import file_digest


def pack(folder: Path, target: Path) -> str:
    """Packs the upper folder of an overlay; returns the SHA-256 of the tar, which names the layer.

    Raises:
        CalledProcessError: tar failed.
    """
    for path in list(folder.rglob("*")):
        _mark_removed(path)
    words = ["tar", "--create", "--sort=name", "--numeric-owner", "--mtime=@0", "--xattrs"]
    words += [
        "--format=pax",
        "--pax-option=delete=atime,delete=ctime",
        "--xattrs-include=security.capability",
        "--directory",
        str(folder),
        "--file",
        str(target),
        ".",
    ]
    subprocess.run(words, check=True, capture_output=True, text=True)
    return file_digest(target)


def _mark_removed(path: Path) -> None:
    """Says in the image's way what overlayfs says in its own: a removed file, a folder that hides the one below it.

    https://github.com/opencontainers/image-spec/blob/main/layer.md#whiteouts
    """
    found = path.lstat()
    if stat.S_ISCHR(found.st_mode) and found.st_rdev == 0:
        path.unlink()
        path.with_name(f".wh.{path.name}").touch()
    elif stat.S_ISDIR(found.st_mode):
        with contextlib.suppress(OSError):
            if os.getxattr(path, "trusted.overlay.opaque") == b"y":
                (path / ".wh..wh..opq").touch()
