"""What getOwners takes and returns."""

from nomad_stateful.schema import rules
from nomad_stateful.schema.fields import ObjectType, boolean, objects, text, texts
from nomad_stateful.schema.tables import FunctionTable

OWNED = ObjectType(
    "Owned",
    "A job or volume, and whose it is.",
    {
        "kind": text('"job" or "volume".'),
        "id": text("Its id."),
        "exists": boolean("Whether Nomad has it, or the variable of such a job."),
        "stopped": boolean("Whether it is a job that was stopped."),
        "users": texts("Jobs that have claims to the volume, sorted; where they are asked for."),
        "registered": text("What the volume is registered with, as JSON; where users are asked for, else empty."),
        "claim": text("Path of the variable that is the claim to it."),
        "stack": text("The stack that has the claim; empty where none does."),
        "ownerId": text("That stack's owner id."),
    },
)
REGISTRATION = ObjectType(
    "Registration",
    "A registered CSI volume.",
    {
        "namespace": text("Its Nomad namespace."),
        "id": text("Its id."),
        "externalId": text("Id at the storage provider."),
        "pluginId": text("Id of its plugin."),
    },
)
GET_OWNERS = FunctionTable(
    "getOwners",
    "Which jobs and volumes exist, and which stack each belongs to.",
    inputs={
        "namespace": text("The Nomad namespace.", default="default"),
        "jobs": texts("Ids of jobs.", rule=rules.ids()),
        "volumes": texts("Ids of volumes.", rule=rules.ids()),
        "users": boolean("Whether to tell which jobs use each volume.", default=False),
    },
    outputs={
        "found": objects(OWNED, "The jobs and volumes."),
        "registrations": objects(REGISTRATION, "All CSI volumes of the namespaces that the token may see."),
    },
)
