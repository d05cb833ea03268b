"""Loop devices: the disks that volumes are plugged in as."""

from __future__ import annotations

import errno
import json
import os
import time
from pathlib import Path
from typing import Final

from sandbox.machine.commands import run
from sandbox.machine.errors import CloudError

_POLL_S: Final = 0.05


def attach(image: Path) -> str:
    """Makes a loop device over an image and returns its path."""
    return run("losetup", "--find", "--show", image).strip()


def detach(device: str) -> None:
    """Takes a loop device away; one that is gone already is done."""
    try:
        run("losetup", "--detach", device)
    except CloudError:
        if device in devices():
            raise


def refresh_size(device: str) -> None:
    """Lets a loop device notice that its image has grown."""
    run("losetup", "--set-capacity", device)


def is_busy(device: str) -> bool:
    """Whether a file system on the device is mounted, in whatever namespace.

    A mount claims its block device exclusively, so the kernel itself answers by refusing a second claim.
    """
    try:
        os.close(os.open(device, os.O_RDONLY | os.O_EXCL | os.O_CLOEXEC))
    except OSError as error:
        if error.errno == errno.EBUSY:
            return True
        if error.errno in {errno.ENOENT, errno.ENXIO}:
            return False
        raise
    return False


def writes(device: str) -> tuple[int, ...] | None:
    """How much has been written to a loop device so far; None while it is being written to.

    https://docs.kernel.org/block/stat.html
    """
    fields = Path(f"/sys/block/{Path(device).name}/stat").read_text(encoding="ascii").split()
    in_flight = int(fields[8])
    return None if in_flight else (int(fields[4]), int(fields[6]), int(fields[11]) if len(fields) > 11 else 0)


def await_free(device: str, timeout_s: float) -> bool:
    """Waits until nothing on the device is mounted; False at the deadline."""
    deadline = time.monotonic() + timeout_s
    while is_busy(device):
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_S)
    return True


def devices() -> dict[str, Path]:
    """Every loop device in use with the image behind it."""
    listed = run("losetup", "--list", "--json", "--output", "NAME,BACK-FILE").strip()
    if not listed:
        return {}
    entries = json.loads(listed)["loopdevices"]
    return {entry["name"]: Path(entry["back-file"].removesuffix(" (deleted)")) for entry in entries}


def devices_under(folder: Path) -> dict[str, Path]:
    """Loop devices whose image lies somewhere under a folder."""
    real = folder.resolve()
    return {name: image for name, image in devices().items() if image.is_relative_to(real)}
