"""The fields of VolumeProtection."""

from nomad_stateful.schema import rules, timeouts
from nomad_stateful.schema.aws_place import ACCOUNT_ID, AWS_CONFIG, REGION
from nomad_stateful.schema.csi_volume_guard import ATTACHMENT_MODE, FS_TYPE
from nomad_stateful.schema.fields import boolean, integer, text
from nomad_stateful.schema.properties import Boolean, Integer, Properties, RequiredText, Text, TextMap, Texts, computed
from nomad_stateful.schema.volume_growth import MODE, MOUNT_FLAGS, RESTART_ID, SECRETS
from nomad_stateful.schema.volume_guard import LARGEST_GIB


class VolumeProtectionProperties(Properties):
    """Has to be deleted before a volume can be, and takes the volume's final snapshot when it is. With `registeredIn`
    it keeps the file system, too: it refuses at preview what its contents would not survive, and has it grow.
    """

    volume_name: RequiredText = text(
        "Name of the volume in the stack's settings.", required=True, rule=rules.volume_name()
    )
    volume_id: RequiredText = text(
        "Id of the volume at the storage provider.",
        required=True,
        replaces=True,
        rule=rules.name("vol-0123456789abcdef0"),
    )
    protect: Boolean = boolean(
        "Whether its deletion is refused, also where the engine's own `protect` was gone round.", default=False
    )
    final_snapshot: Boolean = boolean("Whether deletion takes a snapshot of the EBS volume.", default=True)
    leaving: Boolean = boolean(
        "Whether another volume, with its contents, may take its place: then it is left in AWS as it is.",
        default=False,
    )
    namespace: Text = text("Nomad namespace of a volume that its driver made; empty: Pulumi made it.", default="")
    region: Text = REGION
    account_id: Text = ACCOUNT_ID
    aws_config: Text = AWS_CONFIG
    timeout_s: Integer = timeouts.seconds("Seconds that the snapshot may take.", 3600)
    registered_in: Text = text("Nomad namespace in which `volumeName` is, or will be, registered.", default="")
    attachment_mode: Text = ATTACHMENT_MODE
    fs_type: Text = FS_TYPE
    has_contents: Boolean = boolean(
        "Whether the volume came with contents: it is adopted, or a snapshot's.", default=False
    )
    size_gib: Integer = integer(
        "Size the volume has, in GiB; when it changes, the file system grows.",
        rule=rules.whole_number(1, LARGEST_GIB, "It is in GiB"),
        default=None,
    )
    mount_flags: Texts = MOUNT_FLAGS
    secrets: TextMap = SECRETS
    growth: Text = MODE
    earlier_size_gib: Integer = integer(
        "Size that its file system has already, by VolumeGrowth or on adoption.", default=0
    )
    earlier_restart_id: Text = text("The restartId of a VolumeGrowth of an earlier release.", default="")
    restart_id = computed(RESTART_ID)


VOLUME_PROTECTION = VolumeProtectionProperties.table
