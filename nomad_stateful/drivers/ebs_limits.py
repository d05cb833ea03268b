"""Limits of EBS volume types.

https://docs.aws.amazon.com/ebs/latest/userguide/ebs-volume-types.html
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Range:
    """An inclusive range."""

    low: int
    high: int

    def __contains__(self, value: int) -> bool:
        return self.low <= value <= self.high

    def __str__(self) -> str:
        return f"{self.low} to {self.high}"


@dataclass(frozen=True)
class VolumeType:
    """What a volume type allows; ``None`` where the setting does not exist for it."""

    size_gib: Range
    iops: Range | None = None
    iops_required: bool = False
    iops_per_gib: int = 0
    throughput_mibps: Range | None = None


MIBPS_PER_IOPS = 0.25
"""Throughput that a gp3 volume may have for each of its IOPS."""

VOLUME_TYPES: dict[str, VolumeType] = {
    "gp3": VolumeType(Range(1, 65536), Range(3000, 80000), iops_per_gib=500, throughput_mibps=Range(125, 2000)),
    "gp2": VolumeType(Range(1, 16384)),
    "io1": VolumeType(Range(4, 16384), Range(100, 64000), iops_required=True, iops_per_gib=50),
    "io2": VolumeType(Range(4, 65536), Range(100, 256000), iops_required=True, iops_per_gib=1000),
    "st1": VolumeType(Range(125, 16384)),
    "sc1": VolumeType(Range(125, 16384)),
    "standard": VolumeType(Range(1, 1024)),
}
INITIALIZATION_MIBPS = Range(100, 300)
"""How fast a volume may be asked to load its snapshot's blocks.

https://docs.aws.amazon.com/ebs/latest/userguide/initalize-volume.html
"""
