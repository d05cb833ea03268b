"""Other versions of the EBS driver on the clients of a lane: the same program, which says another number."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from sandbox.machine.private_files import write_private
from tools.faults.lane import Lane

_PLACE: Final = "/mnt/ebs-driver"
"""On each instance's own disk, so that one can lack it."""
_SCRIPT: Final = '#!/bin/sh\nexport NOMAD_STATEFUL_EBS_DRIVER_VERSION={}\nexec aws-ebs-csi-driver "$@"\n'


def install(lane: Lane, version: str, clients: Iterable[str]) -> str:
    """Puts a program of that version on clients; its path there."""
    source, path = lane.settings.home / f"driver-{version}", f"{_PLACE}-{version}"
    write_private(source, _SCRIPT.format(version))
    for client in clients:
        done = lane.inside(client, "install", "-m", "755", str(source), path)
        assert done.returncode == 0, done.stderr
    return path
