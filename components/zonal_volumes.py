"""EBS volumes by zone: the only component that owns data."""

from typing import Any, NotRequired, TypedDict

import pulumi
import pulumi_aws as aws

from nomad_stateful.components.account import in_account
from nomad_stateful.components.component_type import Component
from nomad_stateful.ebs.tags import GUARD_TAG
from nomad_stateful.sdk import VolumeGuard, VolumeProtection


class Adopted(TypedDict):
    """An EBS volume that is there, and is adopted as it is."""

    volume_id: str
    """Its id."""
    guard_id: str
    """Value of its tag nomad-stateful-guard."""


class Grown(TypedDict):
    """How far the growth of a file system has come."""

    size_gib: int
    """Size in GiB that it follows."""
    restart_id: str
    """The last restart that it took."""


class ZonalRegistration(TypedDict):
    """How a volume is registered with Nomad, where CsiVolume has `is_guarded`."""

    namespace: str
    """Nomad namespace; the volume's id is its name."""
    attachment_mode: str
    """file-system or block-device."""
    fs_type: str
    """File system a blank volume is formatted with; "" where that is not known."""
    mount_flags: list[str]
    """Mount flags."""
    secrets: pulumi.Input[dict[str, str]] | None
    """Secrets handed to the driver (secret)."""
    growth: str
    """How a mounted file system grows: online, restart, or online-or-restart."""
    earlier: NotRequired[Grown | None]
    """What a VolumeGrowth of an earlier release knew."""


class ZonalVolume(TypedDict):
    """One EBS volume."""

    name: str
    """Name of the volume, unique in the stack."""
    zone: str
    """Availability zone the volume lives in."""
    size_gib: int
    """Size in GiB."""
    type: NotRequired[str]
    """EBS volume type; gp3 by default."""
    iops: NotRequired[int | None]
    """Provisioned IOPS."""
    throughput_mibps: NotRequired[int | None]
    """Provisioned throughput in MiB/s."""
    encrypted: NotRequired[bool]
    """Encrypt the volume at rest; true by default."""
    kms_key_arn: NotRequired[pulumi.Input[str] | None]
    """KMS key; without it the account's default EBS key is used."""
    snapshot_id: NotRequired[pulumi.Input[str] | None]
    """Snapshot the volume is restored from when it is created."""
    initialization_rate_mibps: NotRequired[int | None]
    """MiB/s at which the snapshot's blocks are loaded when the volume is created."""
    protect: NotRequired[bool]
    """Refuse to delete or replace the volume; true by default."""
    earlier_names: NotRequired[list[str]]
    """Names that the volume may have had: it is the same EBS volume under the new one."""
    adopt: NotRequired[Adopted | None]
    """The EBS volume to adopt instead of creating one; every input has to be as that has it."""
    move_to: NotRequired[str]
    """Zone that it may move to next: then it is not protected, and stays in AWS when it leaves the stack."""
    retain: NotRequired[bool]
    """Leave the EBS volume in AWS, without a final snapshot, when it leaves the stack; false by default."""
    final_snapshot: NotRequired[bool | None]
    """Take a snapshot before deletion; by default of a volume that is, or once was, protected."""
    tags: NotRequired[dict[str, pulumi.Input[str]]]
    """Further tags."""
    registration: NotRequired[ZonalRegistration | None]
    """How it is registered with Nomad: then its file system is guarded, and grows with it."""


class ZonalVolumesArgs(TypedDict):
    """Inputs of ZonalVolumes."""

    volumes: list[ZonalVolume]
    """The volumes."""
    driver_tags: dict[str, pulumi.Input[str]]
    """Tags by which the driver's IAM policy knows the volumes it may attach."""
    region: NotRequired[str]
    """Earlier way to configure the provider nomad-csi: its awsRegion, where the program gives none."""
    account_id: NotRequired[str]
    """The same of its awsAccountId."""
    aws_config: NotRequired[pulumi.Input[str]]
    """The same of its awsConfig."""


class ZonalVolumes(Component):
    """EBS volumes, each in one availability zone."""

    volume_ids: dict[str, pulumi.Output[str]]
    """EBS volume ids by volume name; what uses them goes before the volumes' protection does."""
    sizes_gib: dict[str, pulumi.Output[int]]
    """Sizes in GiB by volume name; of a volume that grows, known to others once it has grown."""
    restart_ids: dict[str, pulumi.Output[str]]
    """By volume name: changes when the volume's consumer has to restart for the file system to grow."""

    def __init__(self, name: str, args: ZonalVolumesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        placed = in_account("ZonalVolumes", name, args, opts)
        super().__init__("ZonalVolumes", name, placed)
        self.volume_ids, self.sizes_gib, self.restart_ids = {}, {}, {}
        retained = {volume["name"]: _stays(volume) for volume in args["volumes"]}
        for volume in args["volumes"]:
            guard = self._guard(name, volume)
            made = self._volume(name, volume, args["driver_tags"], guard)
            # The size that EC2 took: the aws provider does not wait for the change, and may read the one of before.
            size_gib = pulumi.Output.all(made.size, volume["size_gib"]).apply(lambda both: int(both[1]))
            protection = self._protection(volume, made, size_gib, guard)
            _warn_of_earlier(volume, made)
            self.volume_ids[volume["name"]] = protection.volume_id
            self.sizes_gib[volume["name"]] = size_gib
            self.restart_ids[volume["name"]] = protection.restart_id
        self.register_outputs({"volume_ids": self.volume_ids, "sizes_gib": self.sizes_gib, "retained": retained})

    def _volume(
        self, name: str, volume: ZonalVolume, driver_tags: dict[str, pulumi.Input[str]], guard: VolumeGuard
    ) -> aws.ebs.Volume:
        adopted = volume.get("adopt")
        tags: dict[str, pulumi.Input[str]] = {
            **volume.get("tags", {}),
            "Name": volume["name"],
            **driver_tags,
            # Of a volume that is adopted, known before the guard is made: its tags have to be as they are.
            GUARD_TAG: adopted["guard_id"] if adopted else guard.guard_id,
        }
        return aws.ebs.Volume(
            f"{name}-{volume['name']}-{volume['zone']}",
            availability_zone=volume["zone"],
            size=volume["size_gib"],
            type=volume.get("type", "gp3"),
            iops=volume.get("iops"),
            throughput=volume.get("throughput_mibps"),
            encrypted=volume.get("encrypted", True),
            kms_key_id=volume.get("kms_key_arn"),
            snapshot_id=volume.get("snapshot_id"),
            volume_initialization_rate=volume.get("initialization_rate_mibps"),
            tags=tags,
            opts=pulumi.ResourceOptions(
                parent=self,
                # What it refuses is not attempted.
                depends_on=[guard],
                protect=_protected(volume),
                aliases=_aliases(volume, f"{name}-{{}}-{volume['zone']}"),
                import_=adopted["volume_id"] if adopted else None,
                retain_on_delete=_stays(volume),
                # They count at creation only. What EC2 answers may differ from what was set (an alias is a key,
                # encryption is on by default), and must not replace the volume; the guard refuses to change them.
                ignore_changes=["snapshotId", "volumeInitializationRate", "encrypted", "kmsKeyId"],
            ),
        )

    def _protection(
        self, volume: ZonalVolume, made: aws.ebs.Volume, size_gib: pulumi.Output[int], guard: VolumeGuard
    ) -> VolumeProtection:
        """Returns what Pulumi names when it refuses to destroy the volume: so it has the name of the setting."""
        return VolumeProtection(
            f"volumes.{volume['name']}.protect",
            volume_name=volume["name"],
            volume_id=made.id,
            protect=_protected(volume),
            final_snapshot=False if _stays(volume) else guard.final_snapshot,
            leaving=bool(volume.get("move_to")),
            # The volume's own word, which outlasts a change of the credentials.
            account_id=made.arn.apply(_account_of),
            **_kept(volume, size_gib),
            opts=pulumi.ResourceOptions(
                parent=self, protect=_protected(volume), aliases=_aliases(volume, "volumes.{}.protect")
            ),
        )

    def _guard(self, name: str, volume: ZonalVolume) -> VolumeGuard:
        """Returns the guard, without the zone in its name: so it remembers the zone that the volume had."""
        return VolumeGuard(
            f"{name}-{volume['name']}-guard",
            volume_name=volume["name"],
            zone=volume["zone"],
            size_gib=volume["size_gib"],
            snapshot_id=_or_empty(volume.get("snapshot_id")),
            encrypted=volume.get("encrypted", True),
            kms_key_id=_or_empty(volume.get("kms_key_arn")),
            move_to=volume.get("move_to", ""),
            protect=volume.get("protect", True),
            final_snapshot=volume.get("final_snapshot"),
            guard_id=adopted["guard_id"] if (adopted := volume.get("adopt")) else None,
            opts=pulumi.ResourceOptions(parent=self, aliases=_aliases(volume, f"{name}-{{}}-guard")),
        )


class _Kept(TypedDict, total=False):
    registered_in: str
    attachment_mode: str
    fs_type: str
    has_contents: bool
    size_gib: pulumi.Output[int]
    mount_flags: list[str]
    secrets: pulumi.Input[dict[str, str]] | None
    growth: str
    earlier_size_gib: int
    earlier_restart_id: str


def _kept(volume: ZonalVolume, size_gib: pulumi.Output[int]) -> _Kept:
    """Returns what its protection has to know to keep, and to grow, the file system of a registered volume."""
    registration = volume.get("registration")
    if registration is None:
        return {}
    kept: _Kept = {
        "registered_in": registration["namespace"],
        "attachment_mode": registration["attachment_mode"],
        "fs_type": registration["fs_type"],
        "has_contents": volume.get("snapshot_id") is not None,
    }
    if registration["attachment_mode"] == "file-system":
        kept["size_gib"] = size_gib
        kept["mount_flags"] = registration["mount_flags"]
        kept["secrets"] = registration["secrets"]
        kept["growth"] = registration["growth"]
    if volume.get("adopt"):
        kept["has_contents"] = True
        # It is registered as it is, perhaps under a consumer: nothing about it has grown.
        kept["earlier_size_gib"] = volume["size_gib"]
    elif earlier := registration.get("earlier"):
        kept["earlier_size_gib"] = earlier["size_gib"]
        kept["earlier_restart_id"] = earlier["restart_id"]
    return kept


def _warn_of_earlier(volume: ZonalVolume, made: aws.ebs.Volume) -> None:
    """Warns where the state has what a volume was before its change: the next update would ask for that once more."""
    performance = {"iops": volume.get("iops"), "throughput": volume.get("throughput_mibps")}
    wanted = {"size": volume["size_gib"], "type": volume.get("type", "gp3"), **performance}

    def compare(read: dict[str, Any]) -> None:
        earlier = [f"{key} {read[key]}" for key, value in wanted.items() if value is not None and read[key] != value]
        if earlier and not pulumi.runtime.is_dry_run():
            pulumi.log.warn(
                f"EC2 was still changing volume {volume['name']} when the aws provider read it, or --target left it "
                f"out: the state has {', '.join(earlier)}. Run `pulumi refresh` before the next update, which would "
                "ask EC2 for the same change again, and EC2 takes it only hours later",
                made,
            )

    read = {"size": made.size, "type": made.type, "iops": made.iops, "throughput": made.throughput}
    pulumi.Output.all(**read).apply(compare)


def _aliases(volume: ZonalVolume, pattern: str) -> list[pulumi.Alias]:
    """Returns what a resource was called under the volume's earlier names, by the pattern of its own name."""
    return [pulumi.Alias(name=pattern.format(earlier)) for earlier in volume.get("earlier_names", [])]


def _protected(volume: ZonalVolume) -> bool:
    """Returns whether the engine refuses to delete the volume: not one that another takes the place of."""
    return volume.get("protect", True) and not volume.get("move_to")


def _stays(volume: ZonalVolume) -> bool:
    """Returns whether the EBS volume stays in AWS when it leaves the stack."""
    return volume.get("retain", False) or bool(volume.get("move_to"))


def _or_empty(value: pulumi.Input[str] | None) -> pulumi.Input[str]:
    return "" if value is None else value


def _account_of(arn: str | None) -> str:
    """Returns the account in an ARN; "" where the aws provider does not ask for it (aws:skipRequestingAccountId)."""
    parts = (arn or "").split(":")
    return parts[4] if len(parts) > 5 else ""
