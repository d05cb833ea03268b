"""How a client gets a share of the file server: it asks on a socket, and is given a FUSE connection to mount.

The kernel of this machine may have no NFS. What is mounted here is a file system of its own at each mount, with the
share's name as its source, and not another view of a folder as a bind mount is.
"""

from __future__ import annotations

import ctypes
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

FS_TYPE: Final = "fuse.nfs"
_LONGEST: Final = 65536
_FLAGS: Final = {
    "ro": 1,
    "nosuid": 2,
    "nodev": 4,
    "noexec": 8,
    "sync": 16,
    "noatime": 1 << 10,
    "nodiratime": 1 << 11,
    "relatime": 1 << 21,
    "strictatime": 1 << 24,
}


class RefusedError(Exception):
    """The server does not give the share; its words."""


@contextmanager
def reachable(path: Path) -> Iterator[str]:
    """A name of a socket for which the kernel's limit of 108 bytes is enough."""
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)


def mount(server: Path, share: str, source: str, target: str, options: dict[str, str]) -> None:
    """Mounts a share; raises RefusedError, OSError."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        with reachable(server) as name:
            connection.connect(name)
        connection.sendall(json.dumps({"share": share}).encode())
        text, descriptors, _, _ = socket.recv_fds(connection, _LONGEST, 1)
        answer = json.loads(text or b'{"error": "the server closed the connection"}')
        if "error" in answer:
            raise RefusedError(answer["error"])
        try:
            _mount(source, target, descriptors[0], options)
        finally:
            os.close(descriptors[0])
        # The server holds the file system until it is told that it is mounted.
        connection.sendall(b"mounted")


def receive(connection: socket.socket) -> str:
    """The share that a client asks for; raises ValueError."""
    asked: Any = json.loads(connection.recv(_LONGEST))
    if not isinstance(asked, dict) or not isinstance(asked.get("share"), str):
        raise ValueError("no share named")
    return str(asked["share"])


def answer(connection: socket.socket, *, error: str = "", descriptor: int | None = None) -> None:
    """Refuses, or gives the connection."""
    text = json.dumps({"error": error} if descriptor is None else {}).encode()
    socket.send_fds(connection, [text], [] if descriptor is None else [descriptor])


def _mount(source: str, target: str, descriptor: int, options: dict[str, str]) -> None:
    flags = sum(bit for name, bit in _FLAGS.items() if name in options)
    data = f"fd={descriptor},rootmode=40000,user_id=0,group_id=0"
    libc = ctypes.CDLL(None, use_errno=True)
    arguments = (source, target, FS_TYPE)
    if libc.mount(*(os.fsencode(word) for word in arguments), ctypes.c_ulong(flags), data.encode()) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
