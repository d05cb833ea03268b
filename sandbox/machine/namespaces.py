"""Doing one thing inside another process's network or mount namespace, by system calls alone."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final, Literal, TypeVar

UNSHARE: Final = ("unshare", "--net", "--pid", "--mount", "--uts", "--ipc", "--fork", "--kill-child", "--mount-proc")
"""The command that gives an instance its namespaces; that of its control groups it has already."""

_CLONE: Final = {"net": 0x40000000, "mnt": 0x00020000}
_CLONE_FS: Final = 0x00000200
_MNT_DETACH: Final = 2

T = TypeVar("T")


def inside(pid: int, kind: Literal["net", "mnt"], work: Callable[[], T]) -> T:
    """Runs `work` in a namespace of a process, as `inside_of` does."""
    return inside_of(_of(pid, kind), kind, work)


def network_of(pid: int) -> Path:
    """Returns the file that stands for the network namespace of a process."""
    return _of(pid, "net")


def _of(pid: int, kind: Literal["net", "mnt"]) -> Path:
    return Path(f"/proc/{pid}/ns/{kind}")


def inside_of(namespace: Path, kind: Literal["net", "mnt"], work: Callable[[], T]) -> T:
    """Runs `work` in a namespace and returns what it returns.

    It runs in a thread of its own, because the namespace is a property of the thread and this one ends with it.

    Raises:
        OSError: the namespace is gone, or `work` raised it.
    """

    def there() -> T:
        _enter(namespace, kind)
        return work()

    return _in_its_own_thread(there)


def new_network() -> int:
    """A network namespace without a process in it; it lives as long as the descriptor, or a socket made in it."""

    def unshare() -> int:
        _check(_libc().unshare(_CLONE["net"]))
        return os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)

    return _in_its_own_thread(unshare)


def _in_its_own_thread(work: Callable[[], T]) -> T:
    """The work's result, or the OSError that it raised: a thread that changed its namespace must not be used again."""
    results: list[T] = []
    errors: list[OSError] = []

    def run() -> None:
        try:
            results.append(work())
        except OSError as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]


def detach_mount(path: str) -> None:
    """Unmounts lazily; needs neither /proc nor the umount command, which a task's chroot may lack."""
    _check(_libc().umount2(path.encode(), _MNT_DETACH))


def _enter(namespace: Path, kind: Literal["net", "mnt"]) -> None:
    descriptor = os.open(namespace, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if kind == "mnt":
            # The kernel lets a thread change its mounts only if it shares root and working directory with no other.
            _check(_libc().unshare(_CLONE_FS))
        _check(_libc().setns(descriptor, _CLONE[kind]))
    finally:
        os.close(descriptor)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _check(result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
