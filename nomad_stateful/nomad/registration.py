"""A CSI volume's registration as Nomad has it, in the terms in which another registration of it may differ."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_KEYS = (
    "Name",
    "ExternalID",
    "PluginID",
    "RequestedCapabilities",
    "RequestedTopologies",
    "Topologies",
    "MountOptions",
    "Parameters",
    "Context",
    "Capacity",
)


@dataclass(frozen=True)
class Registration:
    """What a volume is registered with. Secrets are not among it: Nomad does not return them."""

    name: str
    external_id: str
    plugin_id: str
    capabilities: tuple[tuple[str, str], ...]
    """Access mode and attachment mode of each, sorted."""
    topologies: tuple[tuple[tuple[str, str], ...], ...]
    """Segments of each required topology; none: reachable from everywhere."""
    fs_type: str
    has_mount_flags: bool
    """Nomad says whether there are mount flags, and not which."""
    parameters: Mapping[str, str]
    context: Mapping[str, str]
    capacity: int
    """Bytes of a volume that the driver made; 0 for one that was registered."""

    @classmethod
    def of(cls, volume: Mapping[str, Any]) -> Registration:
        """Reads the body of /v1/volume/csi/<id>."""
        requested = (volume.get("RequestedTopologies") or {}).get("Required") or volume.get("Topologies") or []
        options = volume.get("MountOptions") or {}
        modes = volume.get("RequestedCapabilities") or []
        return cls(
            name=str(volume.get("Name") or ""),
            external_id=str(volume.get("ExternalID") or ""),
            plugin_id=str(volume.get("PluginID") or ""),
            capabilities=tuple(sorted({(str(one["AccessMode"]), str(one["AttachmentMode"])) for one in modes})),
            topologies=tuple(tuple(sorted((one.get("Segments") or {}).items())) for one in requested),
            fs_type=str(options.get("FSType") or ""),
            has_mount_flags=bool(options.get("MountFlags")),
            parameters=volume.get("Parameters") or {},
            context=volume.get("Context") or {},
            capacity=int(volume.get("Capacity") or 0),
        )


def text(volume: Mapping[str, Any]) -> str:
    """Returns as JSON what Registration.of reads."""
    return json.dumps({key: volume.get(key) for key in _KEYS}, sort_keys=True)


def parsed(text: str) -> Registration | None:
    """Returns the registration of such a text; None for an empty one."""
    return Registration.of(json.loads(text)) if text else None
