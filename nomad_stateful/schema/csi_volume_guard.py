"""The fields of CsiVolumeGuard."""

from nomad_stateful.schema import rules
from nomad_stateful.schema.fields import boolean, mapping, text, texts
from nomad_stateful.schema.tables import ResourceTable
from nomad_stateful.schema.volume_guard import FINAL_SNAPSHOT, PROTECT

ATTACHMENT_MODE = text(
    "file-system or block-device; refused when it changes.",
    default="file-system",
    rule=rules.one_of("file-system", "block-device"),
)
FS_TYPE = text("File system it is formatted with; refused when it changes.", default="")

CSI_VOLUME_GUARD = ResourceTable(
    "CsiVolumeGuard",
    "Refuses at preview what the contents of a CSI volume would not survive: another file system, another zone.",
    inputs={
        "volumeId": text("Id of the volume in Nomad.", required=True, rule=rules.volume_name()),
        "pluginId": text(
            "Id of the plugin; refused when it changes for a volume that the driver made.",
            required=True,
            rule=rules.name("aws-ebs0"),
        ),
        "namespace": text(
            "Nomad namespace; refused when it changes for a volume that the driver made.",
            default="default",
            rule=rules.name("default"),
        ),
        "externalId": text(
            "Id at the storage provider, where the driver does not make it; another id is another volume.", default=""
        ),
        "madeByDriver": boolean("Whether the driver makes the volume; refused when it changes.", default=False),
        "hasContents": boolean("Whether the volume came with contents: it existed, or is a snapshot's.", default=False),
        "capacity": text(
            "Size with its unit, of a volume that the driver makes; refused when it becomes smaller.", default=""
        ),
        "zone": text("Zone it lives in; refused when it changes for a volume that the driver made.", default=""),
        "snapshotId": text(
            "Snapshot that the driver makes it from; refused when set for a volume that exists.", default=""
        ),
        "parameters": mapping("The driver's parameters; refused when they change for a volume that it made."),
        "accessMode": text(
            "Access mode; refused when it changes for a volume that the driver made and a job uses.",
            default="single-node-writer",
        ),
        "attachmentMode": ATTACHMENT_MODE,
        "fsType": FS_TYPE,
        "mountFlags": texts("Mount flags; refused when they change for a volume that the driver made and a job uses."),
        "protect": PROTECT,
        "finalSnapshot": FINAL_SNAPSHOT,
    },
)
