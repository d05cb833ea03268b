"""One `up` or `down` at a time: a lock on the sandbox's folder that the kernel releases when its holder dies."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from sandbox.settings import SandboxError


class Busy(SandboxError):
    """Another run holds the lock."""


@contextlib.contextmanager
def exclusive(home: Path) -> Iterator[None]:
    """Holds the sandbox's folder (made with mode 0700 when it is missing; it may be removed while held).

    Raises:
        Busy: another run holds it; the message names that run.
    """
    descriptor = _locked(home)
    try:
        yield
    finally:
        os.close(descriptor)


def _locked(home: Path) -> int:
    while True:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            descriptor = os.open(home, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            inode = os.fstat(descriptor).st_ino
            os.close(descriptor)
            holder = _holder(inode)
            raise Busy(
                f"{home} is in use by {holder or 'another run'}. Wait until that has ended, then run this again."
            ) from None
        # Whoever held it before may have removed the folder: then this lock is on nothing.
        with contextlib.suppress(FileNotFoundError):
            if home.stat().st_ino == os.fstat(descriptor).st_ino:
                return descriptor
        os.close(descriptor)


def _holder(inode: int) -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/locks").read_text(encoding="ascii").splitlines():
            fields = line.split()
            if fields[1] == "FLOCK" and fields[5].endswith(f":{inode}"):
                command = Path(f"/proc/{fields[4]}/cmdline").read_bytes().decode(errors="replace")
                return f"`{command.replace(chr(0), ' ').strip()}` (pid {fields[4]})"
    return ""
