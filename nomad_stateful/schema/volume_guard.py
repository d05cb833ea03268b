"""The fields of VolumeGuard, and those that it shares with CsiVolumeGuard."""

from nomad_stateful.schema import rules
from nomad_stateful.schema.aws_place import ACCOUNT_ID, AWS_CONFIG, REGION
from nomad_stateful.schema.fields import boolean, integer, text
from nomad_stateful.schema.tables import ResourceTable

LARGEST_GIB = 65536
PROTECT = boolean("Whether the volume is protected against deletion.", default=True)
FINAL_SNAPSHOT = boolean(
    "Whether a snapshot is taken before deletion; by default when the volume is, or was, protected."
)

VOLUME_GUARD = ResourceTable(
    "VolumeGuard",
    "Refuses at preview what would cost a volume its data: another zone, a smaller size, another key.",
    inputs={
        "volumeName": text("Name of the volume in the stack's settings.", required=True, rule=rules.volume_name()),
        "zone": text(
            "Availability zone the volume lives in; refused when it changes.",
            required=True,
            rule=rules.name("us-west-2a"),
        ),
        "sizeGib": integer(
            "Size in GiB; refused when it becomes smaller.",
            required=True,
            rule=rules.whole_number(1, LARGEST_GIB, "It is in GiB"),
        ),
        "snapshotId": text(
            "Snapshot the volume is restored from; refused when set for a volume that exists.", default=""
        ),
        "encrypted": boolean("Whether it is encrypted at rest; refused when it changes.", default=True),
        "kmsKeyId": text("KMS key; empty: the account's default. Refused when it changes.", default=""),
        "moveTo": text(
            "Zone that it may move to next: then zone may become this one, with a snapshot of the volume.", default=""
        ),
        "leftGuardId": text("The guardId of the volume that it moved from; remembered.", default=""),
        "protect": PROTECT,
        "finalSnapshot": FINAL_SNAPSHOT,
        "region": REGION,
        "accountId": ACCOUNT_ID,
        "awsConfig": AWS_CONFIG,
        "guardId": text("Value of the tag nomad-stateful-guard that the volume is to carry; made up when not given."),
    },
)
