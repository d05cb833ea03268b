"""How many volumes fit on an instance: what is behind MaxVolumesPerNode."""

from __future__ import annotations

from typing import Final

from sandbox.standins.csi.errors import internal
from sandbox.standins.csi.metadata import NodeIdentity

NITRO_ATTACHMENTS: Final = 28
"""Slots that volumes and network interfaces of a Nitro instance share."""

_FAMILIES: Final = ("t3", "m5")
"""Those that the sandbox runs. Others have other slots: instance stores take some, Xen and generation 7 have more."""


def max_volumes(identity: NodeIdentity, volume_attach_limit: int, reserved_volume_attachments: int) -> int:
    """MaxVolumesPerNode: the flag where it is given, else the slots less what is reserved (-1: as IMDS says)."""
    if volume_attach_limit >= 0:
        return volume_attach_limit
    if identity.instance_type.partition(".")[0] not in _FAMILIES:
        raise internal(
            f"this stand-in does not have the limits of instance type {identity.instance_type}: use one of "
            f"{' and '.join(_FAMILIES)}, or --volume-attach-limit"
        )
    reserved = reserved_volume_attachments
    if reserved < 0:
        reserved = identity.block_device_mappings + 1  # and the root device
    return max(1, NITRO_ATTACHMENTS - identity.network_interfaces - reserved)
