"""What the mount helpers of network file systems share: the command line mount(8) gives them, and the bind mount."""

from __future__ import annotations

import posixpath
import subprocess
import sys
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Final

EXIT_FAILED: Final = 32
"""What mount(8) returns for a mount that failed."""

NFS_OPTIONS: Final = frozenset(
    (
        *("soft", "hard", "softreval", "intr", "nointr", "timeo", "retrans", "rsize", "wsize", "ac", "noac"),
        *("acregmin", "acregmax", "acdirmin", "acdirmax", "actimeo", "bg", "fg", "nconnect", "max_connect"),
        *("rdirplus", "nordirplus", "retry", "sec", "sharecache", "nosharecache", "resvport", "noresvport"),
        *("lookupcache", "fsc", "nofsc", "xprtsec", "proto", "port", "mountport", "mountproto", "mounthost"),
        *("mountvers", "namlen", "vers", "nfsvers", "minorversion", "lock", "nolock", "cto", "nocto", "acl"),
        *("noacl", "local_lock", "clientaddr", "migration", "nomigration", "addr", "fsid"),
    )
)
KERNEL_OPTIONS: Final = frozenset(
    (
        *("ro", "rw", "nosuid", "suid", "nodev", "dev", "noexec", "exec", "noatime", "atime", "relatime"),
        *("norelatime", "nodiratime", "diratime", "strictatime", "sync", "async", "defaults", "_netdev"),
        *("nofail", "auto", "noauto", "user", "nouser"),
    )
)
# What the kernel takes for a bind mount, too.
_KEPT: Final = frozenset(("ro", "nosuid", "nodev", "noexec", "noatime", "relatime", "nodiratime", "strictatime"))


class MountError(Exception):
    """The mount cannot be made; its text is what the helper prints."""


@dataclass(frozen=True)
class Request:
    """A mount asked for."""

    source: str
    target: str
    options: dict[str, str]


def run(program: str, arguments: Sequence[str], own_options: Set[str], folder: Callable[[Request], Path]) -> int:
    """Does what mount(8) asks of a helper, whose folders and options beside NFS's are given; the exit status."""
    try:
        request = read(arguments)
        check_options(request, own_options | NFS_OPTIONS | KERNEL_OPTIONS)
        show(folder(request), request)
    except MountError as error:
        print(f"{program}: {error}", file=sys.stderr)
        return EXIT_FAILED
    return 0


def read(arguments: Sequence[str]) -> Request:
    """Reads `SOURCE TARGET [-sfnv] [-o OPTIONS] [-t TYPE]`; raises MountError."""
    rest, plain, options = list(arguments), [], ""
    while rest:
        word = rest.pop(0)
        if word in {"-o", "-t", "-N"} and rest:
            value = rest.pop(0)
            options = value if word == "-o" else options
        elif not word.startswith("-"):
            plain.append(word)
    if len(plain) != 2:
        raise MountError("a source and a mount point are needed")
    pairs = (part.partition("=") for part in options.split(",") if part)
    return Request(plain[0], plain[1], {key: value for key, _, value in pairs})


def check_options(request: Request, known: Set[str]) -> None:
    """Refuses what no kernel would take; raises MountError."""
    for name in request.options:
        if name not in known:
            raise MountError(f"an incorrect mount option was specified: {name!r}")


def show(folder: Path, request: Request) -> None:
    """Makes the folder appear at the mount point; raises MountError."""
    _mount("--bind", str(folder), request.target)
    kept = [name for name in request.options if name in _KEPT]
    if kept:
        try:
            _mount("-o", ",".join(["remount", "bind", *kept]), request.target)
        except MountError:
            subprocess.run(["umount", request.target], check=False)
            raise


def inside(root: Path, path: str) -> Path:
    """The folder a client's path names; a path that leaves the root is taken back to it."""
    return root / posixpath.normpath(f"//{path}").lstrip("/")


def _mount(*arguments: str) -> None:
    done = subprocess.run(["mount", *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise MountError(done.stderr.strip() or f"mount ended with {done.returncode}")
