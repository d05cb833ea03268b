"""The fields of VolumeGuard, and those that it shares with CsiVolumeGuard."""

from nomad_stateful.schema import rules
from nomad_stateful.schema.aws_place import ACCOUNT_ID, AWS_CONFIG, REGION
from nomad_stateful.schema.fields import boolean, integer, text
from nomad_stateful.schema.properties import Boolean, Properties, RequiredInteger, RequiredText, Text

LARGEST_GIB = 65536
PROTECT = boolean("Whether the volume is protected against deletion.", default=True)
FINAL_SNAPSHOT = boolean(
    "Whether a snapshot is taken before deletion; by default when the volume is, or was, protected."
)


class VolumeGuardProperties(Properties):
    """Refuses at preview what would cost a volume its data: another zone, a smaller size, another key."""

    volume_name: RequiredText = text(
        "Name of the volume in the stack's settings.", required=True, rule=rules.volume_name()
    )
    zone: RequiredText = text(
        "Availability zone the volume lives in; refused when it changes.",
        required=True,
        rule=rules.name("us-west-2a"),
    )
    size_gib: RequiredInteger = integer(
        "Size in GiB; refused when it becomes smaller.",
        required=True,
        rule=rules.whole_number(1, LARGEST_GIB, "It is in GiB"),
    )
    snapshot_id: Text = text(
        "Snapshot the volume is restored from; refused when set for a volume that exists.", default=""
    )
    encrypted: Boolean = boolean("Whether it is encrypted at rest; refused when it changes.", default=True)
    kms_key_id: Text = text("KMS key; empty: the account's default. Refused when it changes.", default="")
    move_to: Text = text(
        "Zone that it may move to next: then zone may become this one, with a snapshot of the volume.", default=""
    )
    left_guard_id: Text = text("The guardId of the volume that it moved from; remembered.", default="")
    protect: Boolean = PROTECT
    final_snapshot: Boolean = FINAL_SNAPSHOT
    region: Text = REGION
    account_id: Text = ACCOUNT_ID
    aws_config: Text = AWS_CONFIG
    guard_id: Text = text(
        "Value of the tag nomad-stateful-guard that the volume is to carry; made up when not given.", default=None
    )


VOLUME_GUARD = VolumeGuardProperties.table
