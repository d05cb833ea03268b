"""Rules of one volume: who makes it decides which settings it takes, and EC2 what each type has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nomad_stateful.drivers.ebs_limits import INITIALIZATION_MIBPS, MIBPS_PER_IOPS, VOLUME_TYPES, VolumeType
from nomad_stateful.program.settings.errors import Refusal

if TYPE_CHECKING:
    from nomad_stateful.program.settings.volume import Volume


LARGEST_GIB = 1_048_576
"""A PiB: far beyond what a driver makes, and within what Nomad counts in bytes."""
_GIB = {"MiB": 1 / 1024, "GiB": 1, "TiB": 1024}
# What counts where Pulumi makes the volume, and what has its place where the driver makes it.
_FOR_PULUMI = {
    "type": "parameters.type",
    "iops": "parameters.iops",
    "throughput_mibps": "parameters.throughput",
    "initialization_rate_mibps": "parameters.volumeInitializationRate",
    "encrypted": "parameters.encrypted",
    "tags": "parameters.tagSpecification_1",
}


def check(volume: Volume) -> None:
    """Raises Refusal for a setting that does not go with the others of its volume."""
    if volume.provision != "existing" and not volume.adopt and volume.registered.model_fields_set:
        raise Refusal(
            "registered",
            "set",
            "is for volumes that may be registered already: existing ones, and those with adopt: true (provision is "
            f"{volume.provision})",
            "set adopt: true, or remove it" if volume.provision == "pulumi" else "remove it",
        )
    _check_provision(volume)
    _check_set(volume)
    _check_what_counts(volume)
    _check_mounting(volume)


def _check_provision(volume: Volume) -> None:
    if volume.provision == "existing":
        if not volume.external_id:
            raise Refusal("externalId", None, "an existing volume has an id at its storage provider", "set it")
        if volume.size_gib is not None:
            raise Refusal("sizeGib", volume.size_gib, "an existing volume has its size", "remove it")
        return
    if volume.external_id:
        rule = f"provision is {volume.provision}, so it gets an id of its own"
        raise Refusal("externalId", volume.external_id, rule, "remove it, or set provision to existing")
    if volume.retain and volume.provision == "plugin":
        raise Refusal("retain", "true", "is for EBS volumes that Pulumi makes, and for existing volumes", "remove it")
    if volume.adopt and volume.provision != "pulumi":
        raise Refusal("adopt", "true", "is for EBS volumes that Pulumi makes", "remove it, or use externalId")
    if volume.move_to and (volume.provision != "pulumi" or volume.count is not None):
        rule = "is for single EBS volumes that Pulumi makes"
        raise Refusal("moveTo", volume.move_to, rule, "remove it, and restore a snapshot to a volume of a new name")
    if volume.capacity and volume.provision != "plugin":
        raise Refusal("capacity", volume.capacity, "is for volumes that the driver makes", "use sizeGib")
    if (volume.size_gib is None) == (volume.capacity is None):
        rule = "it is required" if volume.size_gib is None else "capacity is set as well"
        raise Refusal("sizeGib", volume.size_gib, rule, "set it" if volume.size_gib is None else "keep one of the two")


def _check_what_counts(volume: Volume) -> None:
    if volume.snapshot_stack and not volume.snapshot_id:
        rule = "says whose snapshot snapshotId is, which is not set"
        raise Refusal("snapshotStack", volume.snapshot_stack, rule, "remove it, or set snapshotId")
    if volume.capacity and int(volume.capacity[:-3]) * _GIB[volume.capacity[-3:]] > LARGEST_GIB:
        raise Refusal("capacity", volume.capacity, f"must be at most {LARGEST_GIB}GiB", "lower it")
    for name, parameter in _FOR_PULUMI.items():
        if volume.provision != "pulumi" and name in volume.model_fields_set and getattr(volume, name):
            raise Refusal(
                str(type(volume).model_fields[name].alias),
                "a map" if name == "tags" else getattr(volume, name),
                f"is for volumes that Pulumi makes, and provision is {volume.provision}",
                f"remove it, and set {parameter}" if parameter and volume.provision == "plugin" else "remove it",
            )


def _check_mounting(volume: Volume) -> None:
    for index, flag in enumerate(volume.mount_flags):
        key = f"mountFlags.{index}"
        if volume.attachment_mode == "block-device":
            raise Refusal(key, flag, "a block device is not mounted", "remove it")
        if not flag:
            raise Refusal(key, flag, "must be a mount flag, such as noatime", "write one, or remove it")
        if "ro" in flag.split(","):
            raise Refusal(
                key, flag, "a job that writes could not", "set readOnly on the mounts of those that only read"
            )


def _check_set(volume: Volume) -> None:
    if volume.zone and volume.zones:
        raise Refusal("zones", ", ".join(volume.zones), "zone is set as well", "keep one of the two")
    if volume.zones and volume.count is None:
        raise Refusal("zones", ", ".join(volume.zones), "a single volume lives in one zone", "use zone, or set count")
    if volume.count is not None and volume.provision == "existing":
        raise Refusal("count", volume.count, "existing volumes are listed one by one", "remove count")


def check_ebs(volume: Volume) -> None:
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
        rule = "only a volume that is restored from a snapshot has blocks to load"
        raise Refusal("initializationRateMibps", rate, rule, "remove it, or set snapshotId")
    if rate not in INITIALIZATION_MIBPS:
        raise Refusal(
            "initializationRateMibps", rate, f"AWS loads {INITIALIZATION_MIBPS} MiB/s", "choose a number in that range"
        )


def _check_size(volume: Volume, kind: VolumeType) -> None:
    if volume.size_gib is not None and volume.size_gib not in kind.size_gib:
        rule = f"a {volume.type} volume has {kind.size_gib} GiB"
        raise Refusal("sizeGib", volume.size_gib, rule, "choose a size in that range or another type")


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
        rule = f"a {volume.type} volume has no provisioned IOPS"
        raise Refusal("iops", volume.iops, rule, f"remove iops, or use one of {_types_with('iops')}")
    if volume.iops not in kind.iops:
        raise Refusal(
            "iops", volume.iops, f"a {volume.type} volume has {kind.iops} IOPS", "choose a number in that range"
        )
    baseline = volume.type == "gp3" and volume.iops == kind.iops.low
    size_gib = volume.size_gib or 0
    if not baseline and volume.iops > kind.iops_per_gib * size_gib:
        rule = f"a {volume.type} volume has at most {kind.iops_per_gib} IOPS for each GiB"
        raise Refusal("iops", volume.iops, rule, f"use at most {kind.iops_per_gib * size_gib}, or a larger volume")


def _check_throughput(volume: Volume, kind: VolumeType) -> None:
    if volume.throughput_mibps is None:
        return
    if kind.throughput_mibps is None:
        rule = f"a {volume.type} volume has no provisioned throughput"
        remedy = f"remove it, or use {_types_with('throughput_mibps')}"
        raise Refusal("throughputMibps", volume.throughput_mibps, rule, remedy)
    if volume.throughput_mibps not in kind.throughput_mibps:
        rule = f"a {volume.type} volume has {kind.throughput_mibps} MiB/s"
        raise Refusal("throughputMibps", volume.throughput_mibps, rule, "choose a number in that range")
    iops = volume.iops or (kind.iops.low if kind.iops else 0)
    most = int(iops * MIBPS_PER_IOPS)
    if volume.throughput_mibps > most:
        rule = f"a {volume.type} volume has at most {MIBPS_PER_IOPS} MiB/s for each of its IOPS, which are {iops}"
        remedy = f"use at most {most}, or set iops to {round(volume.throughput_mibps / MIBPS_PER_IOPS)}"
        raise Refusal("throughputMibps", volume.throughput_mibps, rule, remedy)
