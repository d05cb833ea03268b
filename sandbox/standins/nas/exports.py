"""What the file server exports, and a bindfs for each mount of it that lives as long as the mount does."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import os
import socket
import subprocess
import threading
from pathlib import Path
from typing import Final

from sandbox.machine.share_mounts import inside
from sandbox.machine.waiting import until
from sandbox.standins.nas import mount_protocol
from sandbox.standins.nas.layout import MOUNT_ROOT, Nas
from sandbox.standins.nas.pool import Pool
from sandbox.standins.nas.values import value_of

_READY_TIMEOUT_S: Final = 10.0
_PIDFD_GETFD: Final = 438
_MNT_DETACH: Final = 2


def folder(nas: Nas, share: str) -> Path:
    """The folder of a share as the server sees it; raises RefusedError for one that it does not export."""
    pool, prefix = Pool(nas), f"{MOUNT_ROOT}/"
    below = os.path.normpath(share).removeprefix(prefix) if os.path.normpath(share).startswith(prefix) else ""
    dataset = pool.dataset_of(below)
    if not dataset or value_of(nas, pool.read(), dataset, "sharenfs")[0] == "off":
        raise mount_protocol.RefusedError(f"access denied by server while mounting {share}")
    found = inside(nas.root, below)
    if not found.is_dir():
        raise mount_protocol.RefusedError(f"mounting {share} failed, reason given by server: No such file or directory")
    return found


class Exports:
    """Answers clients, each in a thread of its own, which stays until its mount is gone."""

    def __init__(self, nas: Nas, places: Path) -> None:
        """`places` is a folder of this mount namespace, where each file system appears for a moment."""
        self._nas = nas
        self._places = places
        self._numbers = itertools.count(1)

    def serve(self) -> None:
        """Takes requests in the background from now on; raises OSError."""
        self._places.mkdir(parents=True, exist_ok=True)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._nas.mount_socket.parent.mkdir(exist_ok=True)
        self._nas.mount_socket.unlink(missing_ok=True)
        with mount_protocol.reachable(self._nas.mount_socket) as name:
            listener.bind(name)
        listener.listen(64)
        threading.Thread(target=self._accept, args=(listener,), name="exports", daemon=True).start()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        process = None
        with connection, contextlib.suppress(OSError):
            connection.settimeout(_READY_TIMEOUT_S)
            try:
                share = mount_protocol.receive(connection)
                place = self._places / str(next(self._numbers))
                process = self._start(folder(self._nas, share), place)
            except (mount_protocol.RefusedError, ValueError) as error:
                mount_protocol.answer(connection, error=str(error))
            else:
                _hand_over(connection, process, place)
        if process is not None:
            process.wait()

    def _start(self, origin: Path, place: Path) -> subprocess.Popen[bytes]:
        place.mkdir()
        words = ["bindfs", "-f", "-o", f"subtype={mount_protocol.FS_TYPE.partition('.')[2]}", str(origin), str(place)]
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL)
        until(lambda: place.is_mount() or process.poll() is not None, _READY_TIMEOUT_S, pause_s=0.005)
        if not place.is_mount():
            process.kill()
            raise mount_protocol.RefusedError("the server cannot make the file system: see its log")
        return process


def _hand_over(connection: socket.socket, process: subprocess.Popen[bytes], place: Path) -> None:
    """Gives a client the connection of a bindfs, and closes it here once the client has mounted it."""
    try:
        descriptor = _fuse_of(process.pid)
        try:
            mount_protocol.answer(connection, descriptor=descriptor)
        finally:
            os.close(descriptor)
        connection.recv(16)
    finally:
        # Where nobody mounted it, the file system ends with this, and bindfs with it.
        ctypes.CDLL(None, use_errno=True).umount2(os.fsencode(place), _MNT_DETACH)
        with contextlib.suppress(OSError):
            place.rmdir()


def _fuse_of(pid: int) -> int:
    """A copy of a process's connection to FUSE; raises OSError."""
    for link in Path(f"/proc/{pid}/fd").iterdir():
        if link.readlink() == Path("/dev/fuse"):
            process = os.pidfd_open(pid)
            try:
                found = ctypes.CDLL(None, use_errno=True).syscall(_PIDFD_GETFD, process, int(link.name), 0)
            finally:
                os.close(process)
            if found < 0:
                raise OSError(ctypes.get_errno(), "pidfd_getfd")
            return int(found)
    raise OSError("bindfs has no connection to FUSE")
