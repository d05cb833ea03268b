"""The fields of VolumeGrowth."""

from nomad_stateful.schema import rules, timeouts
from nomad_stateful.schema.fields import integer, mapping, text, texts
from nomad_stateful.schema.properties import (
    Integer,
    Properties,
    RequiredInteger,
    RequiredText,
    Text,
    TextMap,
    Texts,
    computed,
)
from nomad_stateful.schema.volume_guard import LARGEST_GIB

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
    namespace: Text = text(
        "Nomad namespace of the volume.", default="default", replaces=True, rule=rules.name("default")
    )
    registration_id: Text = text("Any value of the registration, which has to exist first.", default="")
    mount_flags: Texts = MOUNT_FLAGS
    secrets: TextMap = SECRETS
    mode: Text = MODE
    timeout_s: Integer = timeouts.seconds("Seconds that growing online may take.", GROWN_WITHIN_S)
    restart_id = computed(RESTART_ID)


VOLUME_GROWTH = VolumeGrowthProperties.table
