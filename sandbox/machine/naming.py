"""Names that EC2 and its instances give to things."""

from __future__ import annotations

import re
from typing import Final

FILE_SERVER_NAMES: Final = ("nas", "nas.sandbox.internal")
"""Names under which clients reach the file server."""

_HOST_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_DISK: Final = re.compile(r"(vol|snap)-[0-9a-f]{8,17}")
_DEVICE_NAME: Final = re.compile(r"/dev/(sd[a-z][a-z]?|xvd[a-z][a-z]?)(\d{1,2})?")


def by_id_name(volume_id: str) -> str:
    """Name under /dev/disk/by-id that udev gives an EBS volume on a Nitro instance."""
    return f"nvme-Amazon_Elastic_Block_Store_{volume_id.replace('-', '')}"


def private_dns_name(address: str, region: str) -> str:
    """EC2's private DNS name of an address, which is also the instance's host name."""
    domain = "ec2.internal" if region == "us-east-1" else f"{region}.compute.internal"
    return f"ip-{address.replace('.', '-')}.{domain}"


def link_name(sandbox: str, instance_id: str) -> str:
    """Name of the host's end of an instance's network link; the kernel allows 15 characters."""
    return f"{sandbox}-{instance_id[-6:]}"


def server_link_name(sandbox: str, zone: str) -> str:
    """Name of the host's end of the network link of a zone's Nomad server."""
    return f"{sandbox}-srv{zone[-1]}"


def delay_link_name(sandbox: str) -> str:
    """Name of the device that packets between zones go through, where they are delayed."""
    return f"{sandbox}-delay"


def is_host_name(name: str) -> bool:
    """Whether an instance can be called so here; EC2 takes anything as the tag Name."""
    return _HOST_NAME.fullmatch(name) is not None


def is_disk_id(resource_id: str) -> bool:
    """Whether it is the id of a volume or a snapshot."""
    return _DISK.fullmatch(resource_id) is not None


def is_device_name(device: str) -> bool:
    """Whether EC2 accepts it as the device name of an attachment."""
    return _DEVICE_NAME.fullmatch(device) is not None
