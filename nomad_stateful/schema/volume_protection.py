"""The fields of VolumeProtection."""

from nomad_stateful.schema import rules
from nomad_stateful.schema.aws_place import ACCOUNT_ID, AWS_CONFIG, REGION
from nomad_stateful.schema.fields import boolean, text
from nomad_stateful.schema.tables import ResourceTable
from nomad_stateful.schema.timeouts import timeout_s

VOLUME_PROTECTION = ResourceTable(
    "VolumeProtection",
    "Has to be deleted before a volume can be, and takes the volume's final snapshot when it is.",
    inputs={
        "volumeName": text("Name of the volume in the stack's settings.", required=True, rule=rules.volume_name()),
        "volumeId": text(
            "Id of the volume at the storage provider.",
            required=True,
            replaces=True,
            rule=rules.name("vol-0123456789abcdef0"),
        ),
        "finalSnapshot": boolean("Whether deletion takes a snapshot of the EBS volume.", default=True),
        "namespace": text("Nomad namespace of a volume that its driver made; empty: Pulumi made it.", default=""),
        "region": REGION,
        "accountId": ACCOUNT_ID,
        "awsConfig": AWS_CONFIG,
        "timeoutS": timeout_s("Seconds that the snapshot may take.", 3600),
    },
)
