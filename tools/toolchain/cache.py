"""The cache outside the clone: what is in it is complete, because it gets its name only when it is."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tools.toolchain import progress

_UNFINISHED = ".unfinished-"


def cache_root() -> Path:
    """Where everything that later clones can use again is kept."""
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # The XDG rules say to ignore a relative path.
    parent = base if base.is_absolute() else Path.home() / ".cache"
    return parent / "nomad-stateful"


def toolchain_root() -> Path:
    """Where the programs are kept, one folder per set of pins."""
    return cache_root() / "toolchain"


def digest(*parts: str | bytes) -> str:
    """A short name for exactly these parts in exactly this order."""
    total = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        total.update(hashlib.sha256(data).digest())
    return total.hexdigest()[:16]


def file_digest(path: Path) -> str:
    """Returns the SHA-256 of a file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def locked(root: Path) -> Iterator[None]:
    """Holds the cache for this process alone; the kernel releases it when the process dies, however it dies."""
    root.mkdir(parents=True, exist_ok=True)
    with (root / ".lock").open("a", encoding="ascii") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with progress.step("waiting for another run that is filling the cache", 300):
                fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def publish(folder: Path, fill: Callable[[Path], None]) -> Path:
    """Has `fill` make `folder` beside its place, then move it there at once. The caller holds the lock."""
    if folder.is_dir():
        return folder
    root = folder.parent
    remove_unfinished(root)
    workshop = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=root))
    try:
        # A temporary folder is private; what it becomes is for every user of the cache's owner.
        made = workshop / "made"
        made.mkdir()
        fill(made)
        _flush(made)
        made.rename(folder)
    finally:
        remove(workshop)
    return folder


def remove_unfinished(root: Path) -> None:
    """Removes what killed runs left behind; with the lock held, nobody is working in there."""
    for leftover in root.glob(f"{_UNFINISHED}*"):
        remove(leftover)


def _flush(folder: Path) -> None:
    """Writes the files to the disk before the name appears, so that a power cut leaves no empty program."""
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            with path.open("rb") as file:
                os.fsync(file.fileno())


def remove(folder: Path) -> None:
    """Removes a folder of the cache. The caller holds the lock."""
    shutil.rmtree(folder, ignore_errors=True)
