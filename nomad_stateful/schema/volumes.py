"""The fields of the resources that a volume has: what guards, protects, grows and releases it."""

from nomad_stateful.schema import common, rules
from nomad_stateful.schema.common import ACCOUNT_ID, AWS_CONFIG, REGION
from nomad_stateful.schema.fields import boolean, integer, mapping, text, texts
from nomad_stateful.schema.properties import (
    Boolean,
    Integer,
    Properties,
    RequiredInteger,
    RequiredText,
    Text,
    TextMap,
    Texts,
    computed,
)

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


GROWN_WITHIN_S = 180
ONLINE, RESTART, EITHER = "online", "restart", "online-or-restart"
MODES = (EITHER, ONLINE, RESTART)
MODE = text(
    '"online" grows the file system while it is mounted and never restarts anything. "online-or-restart" has '
    'the consumer restarted where the driver cannot expand volumes, "restart" also where Nomad or the '
    "controller refuses. What the client refuses is an error in each mode: after it, a restart could not mount "
    "the volume.",
    default=EITHER,
    rule=rules.one_of(*MODES),
)
MOUNT_FLAGS = texts("The registration's mount flags, which Nomad does not show.")
SECRETS = mapping("The registration's secrets, which Nomad does not show.", secret=True)
RESTART_ID = text("Changes when the consumer has to restart, which follows this value.")


class VolumeGrowthProperties(Properties):
    """Grows a volume's file system after the volume, while it is mounted or by a restart of its consumer."""

    volume_id: RequiredText = text("Id of the volume in Nomad.", required=True, replaces=True, rule=rules.volume_name())
    size_gib: RequiredInteger = integer(
        "Size the volume has, in GiB; when it changes, the file system grows.",
        required=True,
        rule=rules.whole_number(1, LARGEST_GIB, "It is in GiB"),
    )
    namespace: Text = common.namespace("Nomad namespace of the volume.")
    registration_id: Text = text("Any value of the registration, which has to exist first.", default="")
    mount_flags: Texts = MOUNT_FLAGS
    secrets: TextMap = SECRETS
    mode: Text = MODE
    timeout_s: Integer = common.seconds("Seconds that growing online may take.", GROWN_WITHIN_S)
    restart_id = computed(RESTART_ID)


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
    timeout_s: Integer = common.seconds("Seconds that the snapshot may take.", 3600)
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


class VolumeReleaseProperties(Properties):
    """Between a volume's consumer and its registration; its deletion waits until the volume is released."""

    volume_id: RequiredText = text("Id of the volume in Nomad.", required=True, replaces=True, rule=rules.volume_name())
    namespace: Text = common.namespace("Nomad namespace of the volume and its consumer.")
    backend: Text = text(
        'Where the storage is: "ebs" also waits until EC2 has the volume detached, "none" for Nomad alone.',
        default="ebs",
        rule=rules.one_of("ebs", "none"),
    )
    external_id: Text = text("Id of the EBS volume (vol-...); needed for backend ebs.", default="", replaces=True)
    region: Text = REGION
    account_id: Text = ACCOUNT_ID
    aws_config: Text = AWS_CONFIG
    consumer_job_id: Text = text(
        "Job to stop, if it still runs, before waiting; empty: none is stopped.", default="", replaces=True
    )
    registration_id: Text = text(
        "Any value of the registration; a new one means that it is replaced.", default="", replaces=True
    )
    triggers: TextMap = mapping(
        "Any values; when one changes, the consumer is about to: it is waited for until Nomad attaches and detaches."
    )
    timeout_s: Integer = common.seconds("Seconds that each wait may take.", 300)
    release_id = computed(text("Random, new with each creation: lets a consumer follow a replacement."))
