"""The fields of CsiVolumeGuard."""

from nomad_stateful.schema import rules
from nomad_stateful.schema.fields import boolean, mapping, text, texts
from nomad_stateful.schema.properties import Boolean, Properties, RequiredText, Text, TextMap, Texts
from nomad_stateful.schema.volume_guard import FINAL_SNAPSHOT, PROTECT

ATTACHMENT_MODE = text(
    "file-system or block-device; refused when it changes.",
    default="file-system",
    rule=rules.one_of("file-system", "block-device"),
)
FS_TYPE = text("File system it is formatted with; refused when it changes.", default="")


class CsiVolumeGuardProperties(Properties):
    """Refuses at preview what the contents of a CSI volume would not survive: another file system, another zone."""

    volume_id: RequiredText = text("Id of the volume in Nomad.", required=True, rule=rules.volume_name())
    plugin_id: RequiredText = text(
        "Id of the plugin; refused when it changes for a volume that the driver made.",
        required=True,
        rule=rules.name("aws-ebs0"),
    )
    namespace: Text = text(
        "Nomad namespace; refused when it changes for a volume that the driver made.",
        default="default",
        rule=rules.name("default"),
    )
    external_id: Text = text(
        "Id at the storage provider, where the driver does not make it; another id is another volume.", default=""
    )
    made_by_driver: Boolean = boolean("Whether the driver makes the volume; refused when it changes.", default=False)
    has_contents: Boolean = boolean(
        "Whether the volume came with contents: it existed, or is a snapshot's.", default=False
    )
    capacity: Text = text(
        "Size with its unit, of a volume that the driver makes; refused when it becomes smaller.", default=""
    )
    zone: Text = text("Zone it lives in; refused when it changes for a volume that the driver made.", default="")
    snapshot_id: Text = text(
        "Snapshot that the driver makes it from; refused when set for a volume that exists.", default=""
    )
    parameters: TextMap = mapping("The driver's parameters; refused when they change for a volume that it made.")
    access_mode: Text = text(
        "Access mode; refused when it changes for a volume that the driver made and a job uses.",
        default="single-node-writer",
    )
    attachment_mode: Text = ATTACHMENT_MODE
    fs_type: Text = FS_TYPE
    mount_flags: Texts = texts(
        "Mount flags; refused when they change for a volume that the driver made and a job uses."
    )
    protect: Boolean = PROTECT
    final_snapshot: Boolean = FINAL_SNAPSHOT


CSI_VOLUME_GUARD = CsiVolumeGuardProperties.table
