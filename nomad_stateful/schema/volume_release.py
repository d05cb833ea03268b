"""The fields of VolumeRelease."""

from nomad_stateful.schema import rules
from nomad_stateful.schema.aws_place import ACCOUNT_ID, AWS_CONFIG
from nomad_stateful.schema.fields import mapping, text
from nomad_stateful.schema.tables import ResourceTable
from nomad_stateful.schema.timeouts import timeout_s

VOLUME_RELEASE = ResourceTable(
    "VolumeRelease",
    "Between a volume's consumer and its registration; its deletion waits until the volume is released.",
    inputs={
        "volumeId": text("Id of the volume in Nomad.", required=True, replaces=True, rule=rules.volume_name()),
        "namespace": text(
            "Nomad namespace of the volume and its consumer.",
            default="default",
            replaces=True,
            rule=rules.name("default"),
        ),
        "backend": text(
            'Where the storage is: "ebs" also waits until EC2 has the volume detached, "none" for Nomad alone.',
            default="ebs",
            rule=rules.one_of("ebs", "none"),
        ),
        "externalId": text("Id of the EBS volume (vol-...); needed for backend ebs.", default="", replaces=True),
        "region": text("AWS region of the EBS volume; empty: the AWS configuration's.", default=""),
        "accountId": ACCOUNT_ID,
        "awsConfig": AWS_CONFIG,
        "consumerJobId": text(
            "Job to stop, if it still runs, before waiting; empty: none is stopped.", default="", replaces=True
        ),
        "registrationId": text(
            "Any value of the registration; a new one means that it is replaced.", default="", replaces=True
        ),
        "triggers": mapping(
            "Any values; when one changes, the consumer is about to: it is waited for until Nomad attaches and "
            "detaches."
        ),
        "timeoutS": timeout_s("Seconds that each wait may take.", 300),
    },
    outputs={"releaseId": text("Random, new with each creation: lets a consumer follow a replacement.")},
)
