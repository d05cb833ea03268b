"""Which ways of using a volume EBS can offer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sandbox.standins.csi.csi_proto import csi

_Mode: Any = csi.VolumeCapability.AccessMode


def is_block(capability: Any) -> bool:
    """Whether a csi.v1.VolumeCapability asks for the raw device."""
    return bool(capability.WhichOneof("access_type") == "block")


def is_supported(capability: Any) -> bool:
    """One node may read and write; several may where the volume is a raw device (multi-attach)."""
    mode = capability.access_mode.mode
    if mode == _Mode.SINGLE_NODE_WRITER:
        return True
    return bool(mode == _Mode.MULTI_NODE_MULTI_WRITER and is_block(capability))


def all_supported(capabilities: Iterable[Any]) -> bool:
    """Whether every one is."""
    return all(is_supported(capability) for capability in capabilities)


def wants_multi_attach(capabilities: Iterable[Any]) -> bool:
    """Whether any asks for a device on several nodes."""
    return any(item.access_mode.mode == _Mode.MULTI_NODE_MULTI_WRITER and is_block(item) for item in capabilities)
