"""EBS volumes by zone: the only component that owns data."""

from typing import NotRequired, TypedDict

import pulumi
import pulumi_aws as aws


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
    kms_key_arn: NotRequired[str | None]
    """KMS key; without it the account's default EBS key is used."""
    snapshot_id: NotRequired[str | None]
    """Snapshot the volume is restored from when it is created."""
    protect: NotRequired[bool]
    """Refuse to delete or replace the volume; true by default."""
    tags: NotRequired[dict[str, str]]
    """Further tags."""


class ZonalVolumesArgs(TypedDict):
    """Inputs of ZonalVolumes."""

    volumes: list[ZonalVolume]
    """The volumes."""
    driver_tags: dict[str, str]
    """Tags by which the driver's IAM policy knows the volumes it may attach."""


class ZonalVolumes(pulumi.ComponentResource):
    """EBS volumes, each in one availability zone."""

    volume_ids: dict[str, pulumi.Output[str]]
    """EBS volume ids by volume name."""

    def __init__(self, name: str, args: ZonalVolumesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("nomad-stateful:index:ZonalVolumes", name, None, opts)
        self.volume_ids = {
            volume["name"]: self._volume(name, volume, args["driver_tags"]).id for volume in args["volumes"]
        }
        self.register_outputs({"volume_ids": self.volume_ids})

    def _volume(self, name: str, volume: ZonalVolume, driver_tags: dict[str, str]) -> aws.ebs.Volume:
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
            tags={**volume.get("tags", {}), "Name": volume["name"], **driver_tags},
            opts=pulumi.ResourceOptions(
                parent=self,
                protect=volume.get("protect", True),
                # The snapshot counts at creation only: forgetting it later must not replace the restored volume.
                ignore_changes=["snapshotId"],
            ),
        )
