"""The provider's classes for a volume's life."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pulumi

from nomad_stateful.sdk.base import NomadCsiResource


class VolumeGuard(NomadCsiResource):
    """Refuses at preview what would cost a volume its data; the volume depends on it and carries its id as a tag."""

    volume_name: pulumi.Output[str] = pulumi.property("volumeName")
    """Name of the volume in the stack's settings."""
    zone: pulumi.Output[str]
    """Availability zone the volume lives in."""
    size_gib: pulumi.Output[int] = pulumi.property("sizeGib")
    """Size in GiB."""
    snapshot_id: pulumi.Output[str] = pulumi.property("snapshotId")
    """Snapshot the volume was restored from; "" if it was made blank."""
    encrypted: pulumi.Output[bool]
    """Whether it is encrypted at rest."""
    kms_key_id: pulumi.Output[str] = pulumi.property("kmsKeyId")
    """KMS key; "" is the account's default."""
    protect: pulumi.Output[bool]
    """Whether the volume is protected against deletion."""
    final_snapshot: pulumi.Output[bool] = pulumi.property("finalSnapshot")
    """Whether a snapshot is taken before deletion."""
    region: pulumi.Output[str]
    """AWS region of the volume; "" is the AWS configuration's."""
    account_id: pulumi.Output[str] = pulumi.property("accountId")
    """AWS account of the volume; "" where nobody recorded it."""
    aws_config: pulumi.Output[str] = pulumi.property("awsConfig")
    """The aws provider's configuration as JSON."""
    guard_id: pulumi.Output[str] = pulumi.property("guardId")
    """Value of the tag nomad-stateful-guard that ties the volume to this guard."""

    def __init__(
        self,
        resource_name: str,
        *,
        volume_name: pulumi.Input[str],
        zone: pulumi.Input[str],
        size_gib: pulumi.Input[int],
        snapshot_id: pulumi.Input[str] = "",
        encrypted: pulumi.Input[bool] = True,
        kms_key_id: pulumi.Input[str] = "",
        protect: pulumi.Input[bool] = True,
        final_snapshot: pulumi.Input[bool] | None = None,
        region: pulumi.Input[str] = "",
        account_id: pulumi.Input[str] = "",
        aws_config: pulumi.Input[str] = "",
        guard_id: pulumi.Input[str] | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """Remembers the arguments; a later change of zone, encryption or key, or a smaller size, is refused.

        `final_snapshot` left out is true for a volume that is, or once was, protected.
        """
        props = {
            "volume_name": volume_name,
            "zone": zone,
            "size_gib": size_gib,
            "snapshot_id": snapshot_id,
            "encrypted": encrypted,
            "kms_key_id": kms_key_id,
            "protect": protect,
            "final_snapshot": final_snapshot,
            "region": region,
            "account_id": account_id,
            "aws_config": aws_config,
            "guard_id": guard_id,
        }
        super().__init__("nomad-csi:index:VolumeGuard", resource_name, props, opts)


class CsiVolumeGuard(NomadCsiResource):
    """Refuses at preview what the contents of a CSI volume would not survive; the volume in Nomad depends on it."""

    volume_id: pulumi.Output[str] = pulumi.property("volumeId")
    """Id of the volume in Nomad."""
    plugin_id: pulumi.Output[str] = pulumi.property("pluginId")
    """Id of the plugin."""
    namespace: pulumi.Output[str]
    """Nomad namespace."""
    external_id: pulumi.Output[str] = pulumi.property("externalId")
    """Id at the storage provider; "" of a volume that the driver makes."""
    made_by_driver: pulumi.Output[bool] = pulumi.property("madeByDriver")
    """Whether the driver makes the volume."""
    has_contents: pulumi.Output[bool] = pulumi.property("hasContents")
    """Whether the volume came with contents."""
    capacity: pulumi.Output[str]
    """Size with its unit, of a volume that the driver makes."""
    zone: pulumi.Output[str]
    """Zone the volume lives in; "" for everywhere."""
    snapshot_id: pulumi.Output[str] = pulumi.property("snapshotId")
    """Snapshot that the driver made it from; "" if it was made blank."""
    parameters: pulumi.Output[Mapping[str, str]]
    """The driver's parameters."""
    access_mode: pulumi.Output[str] = pulumi.property("accessMode")
    """Access mode."""
    attachment_mode: pulumi.Output[str] = pulumi.property("attachmentMode")
    """file-system or block-device."""
    fs_type: pulumi.Output[str] = pulumi.property("fsType")
    """File system it is formatted with; "" is the driver's choice."""
    mount_flags: pulumi.Output[Sequence[str]] = pulumi.property("mountFlags")
    """Mount flags."""
    protect: pulumi.Output[bool]
    """Whether the volume is protected against deletion."""
    final_snapshot: pulumi.Output[bool] = pulumi.property("finalSnapshot")
    """Whether a snapshot is taken before deletion."""

    def __init__(
        self,
        resource_name: str,
        *,
        volume_id: pulumi.Input[str],
        plugin_id: pulumi.Input[str],
        namespace: pulumi.Input[str] = "default",
        external_id: pulumi.Input[str] = "",
        made_by_driver: pulumi.Input[bool] = False,
        has_contents: pulumi.Input[bool] = False,
        capacity: pulumi.Input[str] = "",
        zone: pulumi.Input[str] = "",
        snapshot_id: pulumi.Input[str] = "",
        parameters: pulumi.Input[Mapping[str, pulumi.Input[str]]] | None = None,
        access_mode: pulumi.Input[str] = "single-node-writer",
        attachment_mode: pulumi.Input[str] = "file-system",
        fs_type: pulumi.Input[str] = "",
        mount_flags: pulumi.Input[Sequence[pulumi.Input[str]]] | None = None,
        protect: pulumi.Input[bool] = True,
        final_snapshot: pulumi.Input[bool] | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """Remembers the arguments; later changes that a mount, or the driver, cannot follow are refused.

        `final_snapshot` left out is true for a volume that is, or once was, protected.
        """
        props = {
            "volume_id": volume_id,
            "plugin_id": plugin_id,
            "namespace": namespace,
            "external_id": external_id,
            "made_by_driver": made_by_driver,
            "has_contents": has_contents,
            "capacity": capacity,
            "zone": zone,
            "snapshot_id": snapshot_id,
            "parameters": parameters or {},
            "access_mode": access_mode,
            "attachment_mode": attachment_mode,
            "fs_type": fs_type,
            "mount_flags": mount_flags or [],
            "protect": protect,
            "final_snapshot": final_snapshot,
        }
        super().__init__("nomad-csi:index:CsiVolumeGuard", resource_name, props, opts)


class VolumeProtection(NomadCsiResource):
    """Has to be deleted before a volume can be, and takes the volume's final snapshot when it is."""

    volume_name: pulumi.Output[str] = pulumi.property("volumeName")
    """Name of the volume in the stack's settings."""
    volume_id: pulumi.Output[str] = pulumi.property("volumeId")
    """Id at the storage provider; what uses the volume takes it from here, so that it goes first."""
    final_snapshot: pulumi.Output[bool] = pulumi.property("finalSnapshot")
    """Whether deletion takes a snapshot of the EBS volume."""
    namespace: pulumi.Output[str]
    """Nomad namespace of a volume that its driver made; "" where Pulumi made it."""
    region: pulumi.Output[str]
    """AWS region of the volume; "" is the AWS configuration's."""
    account_id: pulumi.Output[str] = pulumi.property("accountId")
    """AWS account of the volume; "" where nobody recorded it."""
    aws_config: pulumi.Output[str] = pulumi.property("awsConfig")
    """The aws provider's configuration as JSON."""
    timeout_s: pulumi.Output[int] = pulumi.property("timeoutS")
    """Seconds that the snapshot may take."""

    def __init__(
        self,
        resource_name: str,
        *,
        volume_name: pulumi.Input[str],
        volume_id: pulumi.Input[str],
        final_snapshot: pulumi.Input[bool] = True,
        namespace: pulumi.Input[str] = "",
        region: pulumi.Input[str] = "",
        account_id: pulumi.Input[str] = "",
        aws_config: pulumi.Input[str] = "",
        timeout_s: pulumi.Input[int] = 3600,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """On deletion takes a snapshot of the volume and waits at most `timeout_s` seconds for it."""
        props = {
            "volume_name": volume_name,
            "volume_id": volume_id,
            "final_snapshot": final_snapshot,
            "namespace": namespace,
            "region": region,
            "account_id": account_id,
            "aws_config": aws_config,
            "timeout_s": timeout_s,
        }
        super().__init__("nomad-csi:index:VolumeProtection", resource_name, props, opts)


class VolumeGrowth(NomadCsiResource):
    """Grows a volume's file system after the volume, while it is mounted or by a restart of its consumer."""

    volume_id: pulumi.Output[str] = pulumi.property("volumeId")
    """Id of the volume in Nomad."""
    size_gib: pulumi.Output[int] = pulumi.property("sizeGib")
    """Size the volume has, in GiB."""
    namespace: pulumi.Output[str]
    """Nomad namespace of the volume."""
    registration_id: pulumi.Output[str] = pulumi.property("registrationId")
    """Stands for the registration, which has to exist first."""
    mount_flags: pulumi.Output[Sequence[str]] = pulumi.property("mountFlags")
    """The registration's mount flags."""
    secrets: pulumi.Output[Mapping[str, str]]
    """The registration's secrets (secret)."""
    mode: pulumi.Output[str]
    """online, restart or online-or-restart."""
    timeout_s: pulumi.Output[int] = pulumi.property("timeoutS")
    """Seconds that growing online may take."""
    restart_id: pulumi.Output[str] = pulumi.property("restartId")
    """Changes when the consumer has to restart."""

    def __init__(
        self,
        resource_name: str,
        *,
        volume_id: pulumi.Input[str],
        size_gib: pulumi.Input[int],
        namespace: pulumi.Input[str] = "default",
        registration_id: pulumi.Input[str] = "",
        mount_flags: pulumi.Input[Sequence[pulumi.Input[str]]] | None = None,
        secrets: pulumi.Input[Mapping[str, pulumi.Input[str]]] | None = None,
        mode: pulumi.Input[str] = "online-or-restart",
        timeout_s: pulumi.Input[int] = 180,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """Give `size_gib` from the volume itself, so that this comes after it, and `restart_id` to the consumer.

        Modes: "online" restarts nothing, "online-or-restart" has the consumer restarted where the driver cannot expand
        volumes, "restart" also where Nomad or the controller refuses. What the client refuses fails in each mode.
        """
        props = {
            "volume_id": volume_id,
            "size_gib": size_gib,
            "namespace": namespace,
            "registration_id": registration_id,
            "mount_flags": mount_flags or [],
            "secrets": secrets or {},
            "mode": mode,
            "timeout_s": timeout_s,
            "restart_id": None,
        }
        super().__init__("nomad-csi:index:VolumeGrowth", resource_name, props, opts)
