"""Loop devices: the disks that volumes are plugged in as."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Final

from sandbox.machine.commands import run
from sandbox.machine.errors import CloudError
from sandbox.machine.waiting import until

_POLL_S: Final = 0.05


def attach(image: Path) -> str:
    """Makes a loop device over an image and returns its path."""
    return run("losetup", "--find", "--show", image).strip()


def detach(device: str, image: Path) -> None:
    """Takes a loop device away from its image; one that is gone, or is another image's by now, is done.

    A device whose mounts go last is released by the kernel, and at once anybody on this machine may get its name.
    """
    if not _has(device, image):
        return
    try:
        run("losetup", "--detach", device)
    except CloudError:
        if _has(device, image):
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
    return until(lambda: not is_busy(device), timeout_s, _POLL_S)


def devices() -> dict[str, Path]:
    """Every loop device in use with the image behind it."""
    listed = run("losetup", "--list", "--json", "--output", "NAME,BACK-FILE").strip()
    if not listed:
        return {}
    entries = json.loads(listed)["loopdevices"]
    # One that goes at this moment is listed without its image.
    return {
        entry["name"]: Path(entry["back-file"].removesuffix(" (deleted)")) for entry in entries if entry["back-file"]
    }


def devices_under(folder: Path) -> dict[str, Path]:
    """Loop devices whose image lies somewhere under a folder."""
    real = folder.resolve()
    return {name: image for name, image in devices().items() if image.is_relative_to(real)}


def _has(device: str, image: Path) -> bool:
    return devices().get(device) == image.resolve()
