"""What EBS allows for each volume type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class VolumeType:
    """Limits of one type; IOPS bounds of 0 mean that IOPS cannot be chosen."""

    min_iops: int = 0
    max_iops: int = 0
    max_iops_per_gib: int = 0
    throughput: bool = False

    @property
    def takes_iops(self) -> bool:
        """Whether IOPS may be given."""
        return self.max_iops > 0


DEFAULT_TYPE: Final = "gp3"
TYPES: Final = {
    "gp3": VolumeType(min_iops=3000, max_iops=16000, max_iops_per_gib=500, throughput=True),
    "gp2": VolumeType(),
    "io1": VolumeType(min_iops=100, max_iops=64000, max_iops_per_gib=50),
    "io2": VolumeType(min_iops=100, max_iops=256000, max_iops_per_gib=1000),
    "st1": VolumeType(),
    "sc1": VolumeType(),
    "sbg1": VolumeType(),
    "sbp1": VolumeType(),
    "standard": VolumeType(),
}


def iops_for(volume_type: str, size_gib: int, iops: int, iops_per_gib: int, *, may_raise: bool) -> int:
    """The IOPS to ask EC2 for (0: leave them to EC2); raises ValueError with the rule that is broken.

    `iops_per_gib` is capped at the type's limits; below the minimum it is an error unless `may_raise`.
    """
    limits = TYPES[volume_type]
    if iops and iops_per_gib:
        raise ValueError("iops and iopsPerGB are both given: choose one")
    if not limits.takes_iops:
        if iops or iops_per_gib:
            raise ValueError(f"volume type {volume_type} takes no IOPS: leave iops out, or use gp3, io1 or io2")
        return 0
    if iops:
        return iops
    if not iops_per_gib:
        if volume_type in {"io1", "io2"}:
            raise ValueError(f"volume type {volume_type} needs iops or iopsPerGB")
        return 0
    asked = iops_per_gib * size_gib
    if asked < limits.min_iops and volume_type != "gp3":
        if not may_raise:
            raise ValueError(f"invalid IOPS: {asked} is too low, it must be at least {limits.min_iops}")
        asked = limits.min_iops
    ceiling = min(limits.max_iops, max(limits.min_iops, limits.max_iops_per_gib * size_gib))
    return min(max(asked, limits.min_iops), ceiling)
