"""What getVolumes takes and returns."""

from nomad_stateful.schema import rules
from nomad_stateful.schema.fields import ObjectType, integer, mapping, objects, text
from nomad_stateful.schema.tables import FunctionTable

VOLUME = ObjectType(
    "StackVolume",
    "An EBS volume of a stack.",
    {
        "id": text("Id of the EBS volume."),
        "name": text("Its tag Name: the volume's id in Nomad."),
        "zone": text("Its availability zone."),
        "sizeGib": integer("Its size in GiB."),
        "type": text("Its type."),
        "iops": integer("Its IOPS."),
        "throughputMibps": integer("Its throughput in MiB/s; 0 where its type has none."),
        "state": text("creating, available, in-use or error."),
        "guardId": text("Its tag nomad-stateful-guard."),
        "tags": mapping("All its tags."),
    },
)
GET_VOLUMES = FunctionTable(
    "getVolumes",
    "The EBS volumes that carry a stack's tag, whether or not its state knows them.",
    inputs={
        "stack": text(
            "The stack that the volumes are tagged with (nomad-stateful-stack), as PROJECT/STACK.",
            required=True,
            rule=rules.required_text("name the stack that the volumes are tagged with"),
        ),
        "region": text("AWS region; by default the provider's.", default=""),
        "accountId": text(
            "AWS account of the stack, by default the provider's; another one's answer is refused.", default=""
        ),
        "awsConfig": text("The aws provider's configuration as JSON, by default the provider's awsConfig.", default=""),
    },
    outputs={"volumes": objects(VOLUME, "The volumes.")},
)
