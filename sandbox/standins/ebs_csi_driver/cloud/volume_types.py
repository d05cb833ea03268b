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
    """The IOPS to ask EC2 for (0: leave them to EC2, which refuses what a type needs); raises ValueError.

    `iops_per_gib` is capped at the type's limits, and raised to the minimum where `may_raise` says so.
    """
    if volume_type not in TYPES:
        raise ValueError(f'invalid AWS VolumeType "{volume_type}"')
    limits = TYPES[volume_type]
    if iops and iops_per_gib:
        raise ValueError("invalid parameters; specify either IOPS or IOPSPerGb, not both")
    if not limits.takes_iops:
        return 0
    if iops or not iops_per_gib:
        return iops
    asked = iops_per_gib * size_gib
    if asked < limits.min_iops and volume_type != "gp3" and not may_raise:
        return asked
    ceiling = min(limits.max_iops, max(limits.min_iops, limits.max_iops_per_gib * size_gib))
    return min(max(asked, limits.min_iops), ceiling)
