"""How large the file systems are that allocations have mounted, as their Nomad client measures them."""

from __future__ import annotations

from collections.abc import Sequence

from provider.nomad_api import NomadApi, NomadError
from provider.volume_claims import Claim

_GIB = 1 << 30
# Where a client mounts a CSI volume for an allocation.
_MOUNTED_FOR = "/per-alloc/{}/"


def of(api: NomadApi, claims: Sequence[Claim]) -> int:
    """Bytes of the volume's file system at the first claim whose client tells; 0 where none does."""
    for claim in claims:
        if not claim.node_id:
            continue
        try:
            disks = api.get("client/stats", node_id=claim.node_id).get("DiskStats") or []
        except NomadError:
            continue
        for disk in disks:
            if _MOUNTED_FOR.format(claim.alloc_id) in disk.get("Mountpoint", ""):
                return int(disk["Size"])
    return 0


def change(before: int, after: int) -> str:
    """Two sizes for a message; "" where they were not measured."""
    return f" ({before / _GIB:.2f} GiB -> {after / _GIB:.2f} GiB)" if before and after else ""
