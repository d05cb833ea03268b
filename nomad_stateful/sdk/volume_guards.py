"""Resources that refuse, or make up for, what would cost a volume its data."""

from collections.abc import Mapping, Sequence
from typing import Required, TypedDict, Unpack

import pulumi

from nomad_stateful.schema.csi_volume_guard import CSI_VOLUME_GUARD
from nomad_stateful.schema.volume_guard import VOLUME_GUARD
from nomad_stateful.schema.volume_protection import VOLUME_PROTECTION
from nomad_stateful.sdk.base import NomadCsiResource


class VolumeGuardInputs(TypedDict, total=False):
    """What VolumeGuard takes."""

    volume_name: Required[pulumi.Input[str]]
    zone: Required[pulumi.Input[str]]
    size_gib: Required[pulumi.Input[int]]
    snapshot_id: pulumi.Input[str] | None
    encrypted: pulumi.Input[bool] | None
    kms_key_id: pulumi.Input[str] | None
    move_to: pulumi.Input[str] | None
    left_guard_id: pulumi.Input[str] | None
    protect: pulumi.Input[bool] | None
    final_snapshot: pulumi.Input[bool] | None
    region: pulumi.Input[str] | None
    account_id: pulumi.Input[str] | None
    aws_config: pulumi.Input[str] | None
    guard_id: pulumi.Input[str] | None


class VolumeGuard(NomadCsiResource):
    """Refuses at preview what would cost a volume its data; the volume depends on it and carries its id as a tag.

    Remembers its inputs; a later change of zone, encryption or key, or a smaller size, is refused.
    """

    table = VOLUME_GUARD

    volume_name: pulumi.Output[str]
    zone: pulumi.Output[str]
    size_gib: pulumi.Output[int]
    snapshot_id: pulumi.Output[str]
    encrypted: pulumi.Output[bool]
    kms_key_id: pulumi.Output[str]
    move_to: pulumi.Output[str]
    left_guard_id: pulumi.Output[str]
    protect: pulumi.Output[bool]
    final_snapshot: pulumi.Output[bool]
    region: pulumi.Output[str]
    account_id: pulumi.Output[str]
    aws_config: pulumi.Output[str]
    guard_id: pulumi.Output[str]

    def __init__(
        self,
        resource_name: str,
        *,
        opts: pulumi.ResourceOptions | None = None,
        **inputs: Unpack[VolumeGuardInputs],
    ) -> None:
        self._register(resource_name, inputs, opts)


class CsiVolumeGuardInputs(TypedDict, total=False):
    """What CsiVolumeGuard takes."""

    volume_id: Required[pulumi.Input[str]]
    plugin_id: Required[pulumi.Input[str]]
    namespace: pulumi.Input[str] | None
    external_id: pulumi.Input[str] | None
    made_by_driver: pulumi.Input[bool] | None
    has_contents: pulumi.Input[bool] | None
    capacity: pulumi.Input[str] | None
    zone: pulumi.Input[str] | None
    snapshot_id: pulumi.Input[str] | None
    parameters: pulumi.Input[Mapping[str, pulumi.Input[str]]] | None
    access_mode: pulumi.Input[str] | None
    attachment_mode: pulumi.Input[str] | None
    fs_type: pulumi.Input[str] | None
    mount_flags: pulumi.Input[Sequence[pulumi.Input[str]]] | None
    protect: pulumi.Input[bool] | None
    final_snapshot: pulumi.Input[bool] | None


class CsiVolumeGuard(NomadCsiResource):
    """Refuses at preview what the contents of a CSI volume would not survive; the volume in Nomad depends on it.

    Remembers its inputs; later changes that a mount, or the driver, cannot follow are refused.
    """

    table = CSI_VOLUME_GUARD

    volume_id: pulumi.Output[str]
    plugin_id: pulumi.Output[str]
    namespace: pulumi.Output[str]
    external_id: pulumi.Output[str]
    made_by_driver: pulumi.Output[bool]
    has_contents: pulumi.Output[bool]
    capacity: pulumi.Output[str]
    zone: pulumi.Output[str]
    snapshot_id: pulumi.Output[str]
    parameters: pulumi.Output[Mapping[str, str]]
    access_mode: pulumi.Output[str]
    attachment_mode: pulumi.Output[str]
    fs_type: pulumi.Output[str]
    mount_flags: pulumi.Output[Sequence[str]]
    protect: pulumi.Output[bool]
    final_snapshot: pulumi.Output[bool]

    def __init__(
        self,
        resource_name: str,
        *,
        opts: pulumi.ResourceOptions | None = None,
        **inputs: Unpack[CsiVolumeGuardInputs],
    ) -> None:
        self._register(resource_name, inputs, opts)


class VolumeProtectionInputs(TypedDict, total=False):
    """What VolumeProtection takes."""

    volume_name: Required[pulumi.Input[str]]
    volume_id: Required[pulumi.Input[str]]
    protect: pulumi.Input[bool] | None
    final_snapshot: pulumi.Input[bool] | None
    leaving: pulumi.Input[bool] | None
    namespace: pulumi.Input[str] | None
    region: pulumi.Input[str] | None
    account_id: pulumi.Input[str] | None
    aws_config: pulumi.Input[str] | None
    timeout_s: pulumi.Input[int] | None
    registered_in: pulumi.Input[str] | None
    attachment_mode: pulumi.Input[str] | None
    fs_type: pulumi.Input[str] | None
    has_contents: pulumi.Input[bool] | None
    size_gib: pulumi.Input[int] | None
    mount_flags: pulumi.Input[Sequence[pulumi.Input[str]]] | None
    secrets: pulumi.Input[Mapping[str, pulumi.Input[str]]] | None
    growth: pulumi.Input[str] | None
    earlier_size_gib: pulumi.Input[int] | None
    earlier_restart_id: pulumi.Input[str] | None


class VolumeProtection(NomadCsiResource):
    """Has to be deleted before a volume can be, and takes the volume's final snapshot when it is.

    What uses the volume takes `volume_id` from here, so that it goes first, and its consumer `restart_id`.
    """

    table = VOLUME_PROTECTION

    volume_name: pulumi.Output[str]
    volume_id: pulumi.Output[str]
    protect: pulumi.Output[bool]
    final_snapshot: pulumi.Output[bool]
    leaving: pulumi.Output[bool]
    namespace: pulumi.Output[str]
    region: pulumi.Output[str]
    account_id: pulumi.Output[str]
    aws_config: pulumi.Output[str]
    timeout_s: pulumi.Output[int]
    registered_in: pulumi.Output[str]
    attachment_mode: pulumi.Output[str]
    fs_type: pulumi.Output[str]
    has_contents: pulumi.Output[bool]
    size_gib: pulumi.Output[int]
    mount_flags: pulumi.Output[Sequence[str]]
    secrets: pulumi.Output[Mapping[str, str]]
    growth: pulumi.Output[str]
    earlier_size_gib: pulumi.Output[int]
    earlier_restart_id: pulumi.Output[str]
    restart_id: pulumi.Output[str]

    def __init__(
        self,
        resource_name: str,
        *,
        opts: pulumi.ResourceOptions | None = None,
        **inputs: Unpack[VolumeProtectionInputs],
    ) -> None:
        self._register(resource_name, inputs, opts)
