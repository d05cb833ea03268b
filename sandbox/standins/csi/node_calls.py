"""What the node services of folders and shares have in common: checks, publishing by bind mounts, measuring."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sandbox.standins.csi import mounter, mounts
from sandbox.standins.csi.commands import CommandError
from sandbox.standins.csi.csi_proto import csi
from sandbox.standins.csi.errors import already_exists, given, internal, not_found


@contextmanager
def failures(doing: str) -> Iterator[None]:
    """Turns what programs and files raise into INTERNAL, with what was tried."""
    try:
        yield
    except (CommandError, OSError) as error:
        raise internal(f"{doing}: {error}") from None


def volume_id(request: Any) -> str:
    """The request's volume id; INVALID_ARGUMENT without one."""
    return given(request.volume_id, "Volume ID")


def path(request: Any, field: str) -> str:
    """A path of the request; INVALID_ARGUMENT without one."""
    return given(getattr(request, field), field.replace("_", " ").capitalize())


def is_published(target: str, *, read_only: bool) -> bool:
    """Whether something is mounted at the target already; ALREADY_EXISTS when it can be written to and should not."""
    there = mounts.mount_at(target)
    if there is None:
        return False
    if there.read_only != read_only:
        raise already_exists(f"the volume is published at {target} as {'ro' if there.read_only else 'rw'}")
    return True


def publish(source: str, target: str, options: Sequence[str], *, read_only: bool) -> None:
    """Shows a folder at the target; shown already is fine. Raises CsiError, CommandError, OSError."""
    if is_published(target, read_only=read_only):
        return
    Path(target).mkdir(parents=True, exist_ok=True)
    wanted = [*(["ro"] if read_only else []), *options]
    mounter.bind(source, target, [option for option in dict.fromkeys(wanted) if option not in {"bind", "rw"}])


def stats(request: Any) -> Any:
    """The answer to NodeGetVolumeStats for a file system."""
    volume_id(request)
    measured = path(request, "volume_path")
    if not Path(measured).exists():
        raise not_found(f"path {measured} does not exist")
    with failures(f"Could not measure {measured}"):
        found = os.statvfs(measured)
    unit = csi.VolumeUsage.Unit
    in_bytes = csi.VolumeUsage(
        unit=unit.BYTES,
        total=found.f_blocks * found.f_frsize,
        used=(found.f_blocks - found.f_bfree) * found.f_frsize,
        available=found.f_bavail * found.f_frsize,
    )
    inodes = csi.VolumeUsage(
        unit=unit.INODES, total=found.f_files, used=found.f_files - found.f_ffree, available=found.f_ffree
    )
    return csi.NodeGetVolumeStatsResponse(usage=[in_bytes, inodes])


def node_capabilities(*names: str) -> Any:
    """The answer to NodeGetCapabilities."""
    rpc = csi.NodeServiceCapability.RPC
    kinds = [csi.NodeServiceCapability(rpc=rpc(type=rpc.Type.Value(name))) for name in names]
    return csi.NodeGetCapabilitiesResponse(capabilities=kinds)
