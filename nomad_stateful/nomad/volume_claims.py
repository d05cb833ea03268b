"""Claims on a CSI volume."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Claim:
    """One allocation's claim on the volume."""

    alloc_id: str
    namespace: str
    job_id: str
    node_id: str
    node_name: str
    desired: str
    status: str

    def __str__(self) -> str:
        where = f" of job {self.job_id} on {self.node_name or self.node_id[:8]}" if self.job_id else ""
        return f"allocation {self.alloc_id[:8]}{where} ({self.status or 'stopping, its job is purged'})"


def claims(volume: Mapping[str, Any] | None) -> list[Claim]:
    """Returns the claims in the body of /v1/volume/csi/<id>; none for a volume that is not registered (None)."""
    if volume is None:
        return []
    stubs = {stub["ID"]: stub for stub in volume.get("Allocations") or []}
    # A garbage-collected allocation is still among the claims, but has no stub.
    ids = {*stubs, *(volume.get("ReadAllocs") or {}), *(volume.get("WriteAllocs") or {})}
    return [_claim(alloc_id, stubs.get(alloc_id, {})) for alloc_id in sorted(ids)]


def _claim(alloc_id: str, stub: Mapping[str, Any]) -> Claim:
    return Claim(
        alloc_id=alloc_id,
        namespace=stub.get("Namespace", ""),
        job_id=stub.get("JobID", ""),
        node_id=stub.get("NodeID", ""),
        node_name=stub.get("NodeName", ""),
        desired=stub.get("DesiredStatus", ""),
        status=stub.get("ClientStatus", ""),
    )
