"""What a volume has to be told before Nomad knows it."""

from typing import NotRequired, TypedDict

import pulumi

from nomad_stateful.components.ownership import Owner


class CsiVolumeArgs(TypedDict):
    """A volume as Nomad is to know it."""

    volume_id: str
    """Id of the volume in Nomad."""
    namespace: str
    """Nomad namespace."""
    plugin_id: pulumi.Input[str]
    """Id of the plugin that mounts it."""
    external_id: pulumi.Input[str]
    """Id of the volume at the storage provider; empty when the driver makes it."""
    capacity: NotRequired[str | None]
    """Size with its unit, such as 2GiB, of a volume that the driver makes; none registers an existing one."""
    snapshot_id: NotRequired[pulumi.Input[str] | None]
    """Snapshot from which the driver makes the volume."""
    access_mode: str
    """Access mode, such as single-node-writer."""
    attachment_mode: str
    """file-system or block-device."""
    topology_key: NotRequired[pulumi.Input[str]]
    """Topology key of the zone that the node plugins report; empty when the driver has no topology."""
    zone: NotRequired[str]
    """Zone the volume lives in."""
    fs_type: NotRequired[str]
    """File system a blank volume is formatted with."""
    mount_flags: NotRequired[list[str]]
    """Mount flags."""
    context: NotRequired[pulumi.Input[dict[str, str]]]
    """Volume context handed to the driver on each mount."""
    parameters: NotRequired[pulumi.Input[dict[str, str]]]
    """Parameters handed to the driver."""
    secrets: NotRequired[pulumi.Input[dict[str, str]] | None]
    """Secrets handed to the driver (secret)."""
    protect: NotRequired[bool]
    """Refuse to delete or replace a volume that the driver made; true by default."""
    size_gib: NotRequired[pulumi.Input[int] | None]
    """Size in GiB of existing storage that may grow: when it does, its file system grows too."""
    has_contents: NotRequired[bool]
    """Whether the storage has contents already: it existed, or was made from a snapshot."""
    formatted_as: NotRequired[str]
    """File system on a volume whose fs_type is left to the driver, where that is known."""
    final_snapshot: NotRequired[bool | None]
    """Take a snapshot before an EBS volume that the driver made is deleted; by default once it was protected."""
    region: NotRequired[str]
    """Earlier way to configure the provider nomad-csi: its awsRegion, where the program gives none."""
    account_id: NotRequired[str]
    """The same of its awsAccountId."""
    aws_config: NotRequired[pulumi.Input[str]]
    """The same of its awsConfig."""
    owner: NotRequired[Owner | None]
    """Whose the registration is: claimed before it is made. Of a volume that was made for it alone, leave it out."""
    growth: NotRequired[str]
    """How a mounted file system grows: online, restart, or online-or-restart (the default)."""
    is_guarded: NotRequired[bool]
    """Whether ZonalVolumes, which made it, guards and grows its file system; false by default."""
    registered_name: NotRequired[str]
    """Name of a registration, where it is not the volume's id."""
    retain: NotRequired[bool]
    """Leave the registration in Nomad when the volume leaves the stack; false by default."""
    restart_id: NotRequired[pulumi.Input[str]]
    """With is_guarded: changes when the consumer has to restart for the file system to grow."""
