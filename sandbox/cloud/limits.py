"""What EC2 allows for an EBS volume's size, IOPS and throughput, and what it fills in.

https://docs.aws.amazon.com/ebs/latest/userguide/ebs-volume-types.html
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sandbox.machine.errors import ApiError


@dataclass(frozen=True)
class VolumeType:
    """Limits of a volume type; an empty range means that the caller cannot choose the value."""

    size_gib: range
    iops: range = range(0)
    iops_per_gib: int = 0
    default_iops: int = 0
    throughput_mibs: range = range(0)
    default_throughput_mibs: int = 0


VOLUME_TYPES: Final = {
    "gp2": VolumeType(range(1, 16384 + 1)),
    "gp3": VolumeType(
        range(1, 16384 + 1),
        iops=range(3000, 16000 + 1),
        iops_per_gib=500,
        default_iops=3000,
        throughput_mibs=range(125, 1000 + 1),
        default_throughput_mibs=125,
    ),
    "io1": VolumeType(range(4, 16384 + 1), iops=range(100, 64000 + 1), iops_per_gib=50),
    "io2": VolumeType(range(4, 65536 + 1), iops=range(100, 256000 + 1), iops_per_gib=1000),
    "st1": VolumeType(range(125, 16384 + 1)),
    "sc1": VolumeType(range(125, 16384 + 1)),
    "standard": VolumeType(range(1, 1024 + 1)),
}

# A gp3 volume gets at most a quarter of a MiB/s for each of its IOPS.
_IOPS_PER_MIBS: Final = 4


@dataclass(frozen=True)
class Performance:
    """A volume's provisioned performance; None where its type has none."""

    iops: int | None
    throughput_mibs: int | None


def check_volume(volume_type: str, size_gib: int, iops: int | None, throughput_mibs: int | None) -> Performance:
    """The performance of a volume, with the type's defaults filled in.

    Raises:
        ApiError: EC2 would refuse the combination.
    """
    limits = VOLUME_TYPES.get(volume_type)
    if limits is None:
        raise ApiError("UnknownVolumeType", f"Unknown volume type: {volume_type}")
    if size_gib not in limits.size_gib:
        raise _invalid(
            f"Volume of {size_gib}GiB is {'too small' if size_gib < limits.size_gib[0] else 'too large'} for volume "
            f"type {volume_type}; {_between(limits.size_gib, 'GiB')}"
        )
    checked_iops = _check_iops(volume_type, limits, size_gib, iops)
    checked_throughput = _check_throughput(volume_type, limits, checked_iops, throughput_mibs)
    if volume_type == "gp2":
        return Performance(min(max(3 * size_gib, 100), 16000), None)
    return Performance(checked_iops, checked_throughput)


def check_growth(size_gib: int, target_gib: int) -> None:
    """Raises ApiError when a modification would shrink a volume."""
    if target_gib < size_gib:
        raise _invalid(f"New size cannot be smaller than existing size: {target_gib} GiB is less than {size_gib} GiB")


def _check_iops(volume_type: str, limits: VolumeType, size_gib: int, iops: int | None) -> int | None:
    if not limits.iops:
        if iops is not None:
            raise ApiError(
                "InvalidParameterCombination", f"The parameter iops is not supported for {volume_type} volumes."
            )
        return None
    if iops is None:
        if not limits.default_iops:
            raise ApiError(
                "MissingParameter", f"The request must contain the parameter iops for {volume_type} volumes."
            )
        return limits.default_iops
    if iops not in limits.iops:
        raise _invalid(f"Volume iops of {iops} is not allowed for {volume_type}; {_between(limits.iops, 'IOPS')}")
    # The minimum is allowed at any size.
    if iops > max(size_gib * limits.iops_per_gib, limits.iops[0]):
        raise _invalid(
            f"Iops to volume size ratio is too high; maximum is {limits.iops_per_gib} IOPS per GiB of {volume_type}"
        )
    return iops


def _check_throughput(volume_type: str, limits: VolumeType, iops: int | None, throughput: int | None) -> int | None:
    if not limits.throughput_mibs:
        if throughput is not None:
            raise ApiError(
                "InvalidParameterCombination", f"The parameter throughput is not supported for {volume_type} volumes."
            )
        return None
    if throughput is None:
        return limits.default_throughput_mibs
    if throughput not in limits.throughput_mibs:
        raise _invalid(f"Throughput of {throughput} is not allowed; {_between(limits.throughput_mibs, 'MiB/s')}")
    if iops is not None and throughput * _IOPS_PER_MIBS > iops:
        raise _invalid("Throughput (MiB/s) to iops ratio is too high; maximum is 0.25 MiB/s for each IOPS")
    return throughput


def _between(allowed: range, unit: str) -> str:
    return f"it must be between {allowed[0]} and {allowed[-1]} {unit}"


def _invalid(message: str) -> ApiError:
    return ApiError("InvalidParameterValue", message)
