"""Rules of an EBS volume that Pulumi makes: what EC2 has of each type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nomad_stateful.drivers.ebs_limits import INITIALIZATION_MIBPS, MIBPS_PER_IOPS, VOLUME_TYPES, VolumeType
from nomad_stateful.program.settings.errors import Refusal

if TYPE_CHECKING:
    from nomad_stateful.program.settings.volume import Volume


def check(volume: Volume) -> None:
    """Raises Refusal for a size, IOPS, throughput or key that EC2 refuses."""
    if volume.provision == "pulumi":
        kind = VOLUME_TYPES[volume.type]
        _check_size(volume, kind)
        _check_iops(volume, kind)
        _check_throughput(volume, kind)
        _check_initialization(volume)
    if volume.kms_key_arn and not volume.encrypted:
        raise Refusal(
            "kmsKeyArn", volume.kms_key_arn, "needs an encrypted volume", "set encrypted: true, or remove the key"
        )


def _check_initialization(volume: Volume) -> None:
    rate = volume.initialization_rate_mibps
    if rate is None:
        return
    if not volume.snapshot_id:
        raise Refusal(
            "initializationRateMibps",
            rate,
            "only a volume that is restored from a snapshot has blocks to load",
            "remove it, or set snapshotId",
        )
    if rate not in INITIALIZATION_MIBPS:
        raise Refusal(
            "initializationRateMibps", rate, f"AWS loads {INITIALIZATION_MIBPS} MiB/s", "choose a number in that range"
        )


def _check_size(volume: Volume, kind: VolumeType) -> None:
    if volume.size_gib is not None and volume.size_gib not in kind.size_gib:
        raise Refusal(
            "sizeGib",
            volume.size_gib,
            f"a {volume.type} volume has {kind.size_gib} GiB",
            "choose a size in that range or another type",
        )


def _types_with(setting: str) -> str:
    return ", ".join(name for name, kind in VOLUME_TYPES.items() if getattr(kind, setting))


def _check_iops(volume: Volume, kind: VolumeType) -> None:
    if volume.iops is None:
        if kind.iops_required:
            raise Refusal(
                "iops", None, f"a {volume.type} volume has provisioned IOPS", f"set iops ({kind.iops}), or use gp3"
            )
        return
    if kind.iops is None:
        raise Refusal(
            "iops",
            volume.iops,
            f"a {volume.type} volume has no provisioned IOPS",
            f"remove iops, or use one of {_types_with('iops')}",
        )
    if volume.iops not in kind.iops:
        raise Refusal(
            "iops", volume.iops, f"a {volume.type} volume has {kind.iops} IOPS", "choose a number in that range"
        )
    baseline = volume.type == "gp3" and volume.iops == kind.iops.low
    size_gib = volume.size_gib or 0
    if not baseline and volume.iops > kind.iops_per_gib * size_gib:
        raise Refusal(
            "iops",
            volume.iops,
            f"a {volume.type} volume has at most {kind.iops_per_gib} IOPS for each GiB",
            f"use at most {kind.iops_per_gib * size_gib}, or a larger volume",
        )


def _check_throughput(volume: Volume, kind: VolumeType) -> None:
    if volume.throughput_mibps is None:
        return
    if kind.throughput_mibps is None:
        raise Refusal(
            "throughputMibps",
            volume.throughput_mibps,
            f"a {volume.type} volume has no provisioned throughput",
            f"remove it, or use {_types_with('throughput_mibps')}",
        )
    if volume.throughput_mibps not in kind.throughput_mibps:
        raise Refusal(
            "throughputMibps",
            volume.throughput_mibps,
            f"a {volume.type} volume has {kind.throughput_mibps} MiB/s",
            "choose a number in that range",
        )
    iops = volume.iops or (kind.iops.low if kind.iops else 0)
    most = int(iops * MIBPS_PER_IOPS)
    if volume.throughput_mibps > most:
        raise Refusal(
            "throughputMibps",
            volume.throughput_mibps,
            f"a {volume.type} volume has at most {MIBPS_PER_IOPS} MiB/s for each of its IOPS, which are {iops}",
            f"use at most {most}, or set iops to {round(volume.throughput_mibps / MIBPS_PER_IOPS)}",
        )
