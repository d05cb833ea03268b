"""The fields of VolumeProtection."""

from nomad_stateful.schema import rules
from nomad_stateful.schema.aws_place import ACCOUNT_ID, AWS_CONFIG, REGION
from nomad_stateful.schema.csi_volume_guard import ATTACHMENT_MODE, FS_TYPE
from nomad_stateful.schema.fields import boolean, integer, text
from nomad_stateful.schema.tables import ResourceTable
from nomad_stateful.schema.timeouts import timeout_s
from nomad_stateful.schema.volume_growth import MODE, MOUNT_FLAGS, RESTART_ID, SECRETS
from nomad_stateful.schema.volume_guard import LARGEST_GIB

VOLUME_PROTECTION = ResourceTable(
    "VolumeProtection",
    "Has to be deleted before a volume can be, and takes the volume's final snapshot when it is. With `registeredIn` "
    "it keeps the file system, too: it refuses at preview what its contents would not survive, and has it grow.",
    inputs={
        "volumeName": text("Name of the volume in the stack's settings.", required=True, rule=rules.volume_name()),
        "volumeId": text(
            "Id of the volume at the storage provider.",
            required=True,
            replaces=True,
            rule=rules.name("vol-0123456789abcdef0"),
        ),
        "protect": boolean(
            "Whether its deletion is refused, also where the engine's own `protect` was gone round.", default=False
        ),
        "finalSnapshot": boolean("Whether deletion takes a snapshot of the EBS volume.", default=True),
        "leaving": boolean(
            "Whether another volume, with its contents, may take its place: then it is left in AWS as it is.",
            default=False,
        ),
        "namespace": text("Nomad namespace of a volume that its driver made; empty: Pulumi made it.", default=""),
        "region": REGION,
        "accountId": ACCOUNT_ID,
        "awsConfig": AWS_CONFIG,
        "timeoutS": timeout_s("Seconds that the snapshot may take.", 3600),
        "registeredIn": text("Nomad namespace in which `volumeName` is, or will be, registered.", default=""),
        "attachmentMode": ATTACHMENT_MODE,
        "fsType": FS_TYPE,
        "hasContents": boolean("Whether the volume came with contents: it is adopted, or a snapshot's.", default=False),
        "sizeGib": integer(
            "Size the volume has, in GiB; when it changes, the file system grows.",
            rule=rules.whole_number(1, LARGEST_GIB, "It is in GiB"),
        ),
        "mountFlags": MOUNT_FLAGS,
        "secrets": SECRETS,
        "growth": MODE,
        "earlierSizeGib": integer("Size that its file system has already, by VolumeGrowth or on adoption.", default=0),
        "earlierRestartId": text("The restartId of a VolumeGrowth of an earlier release.", default=""),
    },
    outputs={"restartId": RESTART_ID},
)
