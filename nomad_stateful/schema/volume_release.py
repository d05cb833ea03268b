"""The fields of VolumeRelease."""

from nomad_stateful.schema import rules, timeouts
from nomad_stateful.schema.aws_place import ACCOUNT_ID, AWS_CONFIG, REGION
from nomad_stateful.schema.fields import mapping, text
from nomad_stateful.schema.properties import Integer, Properties, RequiredText, Text, TextMap, computed


class VolumeReleaseProperties(Properties):
    """Between a volume's consumer and its registration; its deletion waits until the volume is released."""

    volume_id: RequiredText = text("Id of the volume in Nomad.", required=True, replaces=True, rule=rules.volume_name())
    namespace: Text = text(
        "Nomad namespace of the volume and its consumer.",
        default="default",
        replaces=True,
        rule=rules.name("default"),
    )
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
    timeout_s: Integer = timeouts.seconds("Seconds that each wait may take.", 300)
    release_id = computed(text("Random, new with each creation: lets a consumer follow a replacement."))


VOLUME_RELEASE = VolumeReleaseProperties.table
