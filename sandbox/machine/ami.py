"""The machine image that instances boot: the host's own file system, with the few private parts an instance needs."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from sandbox.machine.launcher import launcher
from sandbox.machine.naming import FILE_SERVER_NAMES

IMAGE_ID: Final = "ami-0d5ab0c5ab0c5ab0c"


def hosts(address: str, dns_name: str, file_server: str) -> str:
    """The instance's /etc/hosts: itself, and the file server."""
    own = f"{address} {dns_name} {dns_name.partition('.')[0]}"
    return f"127.0.0.1 localhost\n{own}\n{file_server} {' '.join(FILE_SERVER_NAMES)}\n"


def etc_files(address: str, dns_name: str, file_server: str) -> dict[str, str]:
    """Files under /etc that the instance has of its own, by name."""
    return {"hosts": hosts(address, dns_name, file_server), "hostname": f"{dns_name}\n"}


def programs(zone: str, efs: Path, nas: Path) -> dict[str, str]:
    """Clients of network storage that the image carries, by name: their real ones may not be on this machine."""
    nfs = launcher("sandbox.standins.nas.mount_nfs", str(nas))
    return {
        "mount.efs": launcher("sandbox.cloud.mount_efs", str(efs), zone),
        "mount.nfs": nfs,
        "mount.nfs4": nfs,
    }


def image(architecture: str) -> dict[str, Any]:
    """The image as moto loads it."""
    return {
        "ami_id": IMAGE_ID,
        "name": "nomad-stateful-sandbox",
        "description": "The file system of the machine that the sandbox runs on",
        "owner_id": "123456789012",
        "public": True,
        "state": "available",
        "architecture": "arm64" if architecture in {"aarch64", "arm64"} else "x86_64",
        "virtualization_type": "hvm",
        "hypervisor": "xen",
        "image_type": "machine",
        "image_location": "123456789012/nomad-stateful-sandbox",
        "platform": None,
        "root_device_name": "/dev/sda1",
        "root_device_type": "ebs",
        "sriov": "simple",
    }
