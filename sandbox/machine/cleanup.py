"""Clears what a crash, a kill or a reboot left of the sandbox's cloud."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path
from typing import Final

from sandbox.machine import control_groups, inventory, loops, network
from sandbox.machine.commands import run
from sandbox.machine.errors import CloudError
from sandbox.machine.waiting import until
from sandbox.settings import SandboxSettings

_TIMEOUT_S: Final = 20.0


def cleanup(settings: SandboxSettings) -> list[str]:
    """Clears everything this sandbox's cloud made, except the daemon itself, which must have ended before.

    Returns one sentence per kind of thing that was found and cleared; an empty list when there was nothing. What could
    not be cleared is said too, and does not stop the rest.
    """
    said: list[str] = []
    for step in (_instances, _groups, _mounts, _disks, _links, _files):
        try:
            said += step(settings)
        except CloudError as error:
            said.append(f"could not clear everything: {error}")
    return said


def _instances(settings: SandboxSettings) -> list[str]:
    killed = [record.name for record in inventory.records(settings) if inventory.pull_plug(record)]
    return [f"killed {_count(killed, 'instance')} that still ran"] if killed else []


def _groups(settings: SandboxSettings) -> list[str]:
    name = control_groups.of_sandbox(settings)
    return [f"removed the control group {name}"] if control_groups.remove(name) else []


def _mounts(settings: SandboxSettings) -> list[str]:
    home = str(settings.home.resolve())
    points = []
    for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines():
        point = line.split(" ")[4].encode().decode("unicode_escape")
        if point.startswith(home + "/"):
            points.append(point)
    for point in reversed(points):
        run("umount", "--lazy", point)
    return [f"unmounted {_count(points, 'file system')}"] if points else []


def _disks(settings: SandboxSettings) -> list[str]:
    found = loops.devices_under(settings.home)
    for device, image in found.items():
        loops.await_free(device, _TIMEOUT_S)
        loops.detach(device, image)
    # The kernel releases a device only when its last user has.
    if not until(lambda: not loops.devices_under(settings.home), _TIMEOUT_S):
        raise CloudError(f"the loop devices {', '.join(loops.devices_under(settings.home))} are still in use")
    return [f"detached {_count(list(found), 'loop device')}"] if found else []


def _links(settings: SandboxSettings) -> list[str]:
    links = {*network.links_of(settings), *(record.link for record in inventory.records(settings))}
    gone = [link for link in sorted(links) if network.delete_link(link)]
    if network.remove_bridge(settings):
        gone.append(settings.bridge)
    return [f"removed {_count(gone, 'network link')}"] if gone else []


def _files(settings: SandboxSettings) -> list[str]:
    images = list(settings.volume_dir.glob("*.img"))
    folders = [path for path in settings.instance_dir.glob("*") if path.is_dir()]
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(settings.home / "ec2")
    said = []
    if images:
        said.append(f"deleted the images of {_count([path.stem for path in images], 'volume or snapshot')}")
    if folders:
        said.append(f"deleted the disks of {_count([path.name for path in folders], 'instance')}")
    return said


def _count(names: list[str], noun: str) -> str:
    return f"{len(names)} {noun}{'' if len(names) == 1 else 's'} ({', '.join(names)})"
