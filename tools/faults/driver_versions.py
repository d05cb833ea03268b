"""Other versions of the EBS driver on the clients of a lane: the same program, which says another number."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from nomad_stateful.drivers.catalogue import DRIVERS
from sandbox.standins.ebs_csi_driver.version import VERSION_VARIABLE
from tools.faults.lane import Lane
from tools.trial.running import ended_well

_SCRIPT: Final = """
docker image inspect "$1:$3" >/dev/null 2>&1 && exit
made=$(docker create "$1:$2")
docker commit --change "ENV $4=$3" "$made" "$1:$3"
docker rm "$made"
"""


def install(lane: Lane, version: str, clients: Iterable[str]) -> None:
    """Gives clients the driver's image of that version, made of the one that they have."""
    driver = DRIVERS["ebs"]
    for client in clients:
        words = (driver.image, driver.default_version, version, VERSION_VARIABLE)
        ended_well(lane.inside(client, "sh", "-e", "-c", _SCRIPT, "install", *words))
