"""How many volumes fit on an instance: the table behind MaxVolumesPerNode."""

from __future__ import annotations

from typing import Final

from sandbox.standins.csi.metadata import NodeIdentity

NITRO_ATTACHMENTS: Final = 28
"""Slots that volumes, network interfaces and instance stores of a Nitro instance share."""

XEN_ATTACHMENTS: Final = 39

_XEN_FAMILIES: Final = frozenset(
    {
        "c1",
        "c3",
        "c4",
        "d2",
        "f1",
        "g3",
        "g3s",
        "h1",
        "i2",
        "i3",
        "m1",
        "m2",
        "m3",
        "m4",
        "p2",
        "p3",
        "r3",
        "r4",
        "t1",
        "t2",
        "x1",
        "x1e",
    }
)

# Generation 7 and later count volumes apart from network interfaces.
_DEDICATED_FAMILIES: Final = frozenset(
    {
        "c7i",
        "c7a",
        "c8g",
        "m7i",
        "m7a",
        "m8g",
        "r7i",
        "r7a",
        "r8g",
        "x8g",
        "c8gd",
        "m8gd",
        "r8gd",
        "i8g",
        "c7i-flex",
        "m7i-flex",
    }
)
_DEDICATED_BY_SIZE: Final = {"8xlarge": 48, "12xlarge": 64, "16xlarge": 79, "24xlarge": 128, "48xlarge": 128}
_DEDICATED_SMALL: Final = 32

_INSTANCE_STORES: Final = {
    "c5d": 1, "c6gd": 1, "c6id": 1, "i3en": 1, "i4g": 1, "i4i": 1, "m5ad": 1, "m5d": 1, "m6gd": 1, "m6id": 1,
    "r5ad": 1, "r5d": 1, "r5dn": 1, "r6gd": 1, "r6id": 1, "z1d": 1,
}  # fmt: skip


def attachable_volumes(instance_type: str, *, network_interfaces: int, reserved: int) -> int:
    """Volumes the driver may attach to an instance of this type; never below 1."""
    family, _, size = instance_type.partition(".")
    if family in _XEN_FAMILIES:
        slots = XEN_ATTACHMENTS
    elif family in _DEDICATED_FAMILIES:
        slots = _DEDICATED_BY_SIZE.get(size, _DEDICATED_SMALL)
    else:
        slots = NITRO_ATTACHMENTS - network_interfaces - _INSTANCE_STORES.get(family, 0)
    return max(1, slots - reserved)


def max_volumes(identity: NodeIdentity, volume_attach_limit: int, reserved_volume_attachments: int) -> int:
    """MaxVolumesPerNode: the flag where it is given, else the table less what is reserved (-1: as IMDS says)."""
    if volume_attach_limit >= 0:
        return volume_attach_limit
    reserved = reserved_volume_attachments
    if reserved < 0:
        reserved = identity.block_device_mappings + 1  # and the root device
    return attachable_volumes(identity.instance_type, network_interfaces=identity.network_interfaces, reserved=reserved)
