"""Which ways of using a volume a driver of folders and shares can offer."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Final

from sandbox.standins.csi.csi_proto import csi
from sandbox.standins.csi.errors import invalid

_Mode: Any = csi.VolumeCapability.AccessMode

SINGLE_NODE: Final = frozenset(
    {
        _Mode.SINGLE_NODE_WRITER,
        _Mode.SINGLE_NODE_READER_ONLY,
        _Mode.SINGLE_NODE_SINGLE_WRITER,
        _Mode.SINGLE_NODE_MULTI_WRITER,
    }
)
EVERY_MODE: Final = SINGLE_NODE | {
    _Mode.MULTI_NODE_READER_ONLY,
    _Mode.MULTI_NODE_SINGLE_WRITER,
    _Mode.MULTI_NODE_MULTI_WRITER,
}


def refusal(capability: Any, modes: Collection[int], fs_types: Collection[str]) -> str:
    """Why a csi.v1.VolumeCapability cannot be had, empty where it can; no fs_types: any."""
    kind = capability.WhichOneof("access_type")
    if kind == "block":
        return "access type block: these volumes are file systems, not devices. Use the attachment mode file-system"
    if kind is None:
        return "it names no access type"
    if capability.access_mode.mode not in modes:
        return f"access mode {_Mode.Mode.Name(capability.access_mode.mode)}"
    fs_type = capability.mount.fs_type
    if fs_type and fs_types and fs_type not in fs_types:
        return f"fs_type {fs_type!r}: use {' or '.join(sorted(fs_types))}, or none"
    return ""


def check(capability: Any, modes: Collection[int], fs_types: Collection[str] = ()) -> None:
    """INVALID_ARGUMENT for what cannot be had."""
    reason = refusal(capability, modes, fs_types)
    if reason:
        raise invalid(f"Volume capability not supported: {reason}")


def controller(names: Iterable[str]) -> Any:
    """The answer to ControllerGetCapabilities."""
    rpc = csi.ControllerServiceCapability.RPC
    found = [csi.ControllerServiceCapability(rpc=rpc(type=rpc.Type.Value(name))) for name in names]
    return csi.ControllerGetCapabilitiesResponse(capabilities=found)


def needed(request: Any) -> Any:
    """The volume capability of a request; INVALID_ARGUMENT without one."""
    if not request.HasField("volume_capability"):
        raise invalid("Volume capability not provided")
    return request.volume_capability
