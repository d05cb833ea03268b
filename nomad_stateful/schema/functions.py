"""What the functions take and return, one table each."""

from typing import Any

from nomad_stateful.plugin_server.plugin import CheckFailure
from nomad_stateful.schema import rules
from nomad_stateful.schema.fields import ObjectType, boolean, integer, mapping, objects, text, texts
from nomad_stateful.schema.tables import FunctionTable

SERVER = ObjectType(
    "ClusterServer",
    "One Nomad server.",
    {"name": text("The server's name."), "version": text("Its version of Nomad.")},
)
NODE = ObjectType(
    "ClusterNode",
    "One Nomad client.",
    {
        "id": text("The client's id."),
        "name": text("The client's name."),
        "version": text("Its version of Nomad."),
        "zone": text("Its availability zone; empty where it has none."),
        "status": text("initializing, ready, down or disconnected."),
        "eligibility": text("eligible or ineligible for new allocations."),
        "datacenter": text("Its datacenter."),
        "nodePool": text("Its node pool."),
        "drivers": texts("Its healthy task drivers."),
        "cpuMhz": integer("CPU that it has for jobs, in MHz."),
        "memoryMib": integer("Memory that it has for jobs, in MiB."),
    },
)
GET_CLUSTER = FunctionTable(
    "getCluster",
    "What the Nomad cluster offers: its version, clients and zones.",
    inputs={},
    outputs={
        "version": text("The oldest version among the servers."),
        "servers": objects(SERVER, "The region's servers, sorted by name."),
        "nodes": objects(NODE, "Every client, sorted by name."),
        "zones": texts("Availability zones that have a ready client, sorted."),
    },
)

TASK = ObjectType(
    "JobTask",
    "One task of a job.",
    {
        "name": text("The task's name."),
        "image": text("Its image; empty where its driver runs none."),
        "args": texts("Its arguments."),
        "volumes": texts("Sources of the volumes it mounts, sorted."),
    },
)
FAILING_RUN = ObjectType(
    "FailingRun",
    "A run of a periodic job that has failed and not succeeded since.",
    {
        "jobId": text("Id of the run's own job."),
        "failures": integer("Allocations of it that failed."),
        "since": text("When it was launched, in UTC."),
        "allocationId": text("The newest allocation that failed."),
        "task": text("The task that failed in it; empty where none was started."),
        "reason": text("What that one's task ended with."),
        "again": boolean("Whether Nomad tries again."),
    },
)
GET_JOB = FunctionTable(
    "getJob",
    "What a job runs as it is registered, and which of its periodic runs fail.",
    inputs={
        "jobId": text("Id of the job.", required=True, rule=rules.required_text("name the job")),
        "namespace": text("The job's Nomad namespace.", default="default"),
    },
    outputs={
        "registered": boolean("Whether there is such a job."),
        "tasks": objects(TASK, "Its tasks; none while it is stopped."),
        "failingRuns": objects(
            FAILING_RUN,
            "Runs of a periodic job that have failed and not succeeded since, as long as Nomad knows them.",
        ),
    },
)

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

_EXAMPLE = 'give each part a name, a count of at least 1 and constraints, such as {"name": "all", "count": 1}'
_NEEDED = "give a job file, and the parts of its group"


def _parts(key: str, value: Any) -> list[CheckFailure]:
    if not value:
        return [CheckFailure(key, f"{key} is required: {_NEEDED}")]
    if isinstance(value, list) and all(_is_part(part) for part in value):
        return []
    return [CheckFailure(key, f"{key} is not a list of parts: {_EXAMPLE}")]


def _is_part(part: Any) -> bool:
    return isinstance(part, dict) and bool(part.get("name")) and int(part.get("count") or 0) >= 1


CONSTRAINT = ObjectType(
    "PlacementConstraint",
    "A constraint on clients.",
    {"attribute": text("What is compared."), "operator": text("How."), "value": text("With what.")},
    given=True,
)
PART = ObjectType(
    "PlacementPart",
    "Instances of a group that ask the same of a client.",
    {
        "name": text("The part's name.", required=True),
        "count": integer("Instances.", required=True),
        "constraints": objects(CONSTRAINT, "Further constraints on their clients."),
    },
    given=True,
)
FAILURE = ObjectType(
    "PlacementFailure",
    "Instances for which there is no client, and what Nomad counted.",
    {
        "part": text("The part that is not placed."),
        "missing": integer("Instances of it without a client."),
        "clients": integer("Clients that were looked at: ready, eligible, of the job's node pool and datacenters."),
        "unfit": mapping("How many of them fail a constraint, by the constraint.", "integer"),
        "full": mapping("How many have too little left of a resource, by the resource.", "integer"),
    },
)
GET_PLACEMENT = FunctionTable(
    "getPlacement",
    "Whether Nomad's scheduler would find clients for a job, of which nothing is submitted.",
    inputs={
        "jobspec": text("Text of a job file (HCL) with one group.", required=True, rule=rules.required_text(_NEEDED)),
        "variables": text("Values of its variables, as in a variables file.", default=""),
        "namespace": text("The job's Nomad namespace, by default its own."),
        "parts": objects(
            PART, "The group's instances, by what they ask of a client beyond the job.", required=True, rule=_parts
        ),
        "constraints": objects(
            CONSTRAINT,
            "What all instances ask beyond the job; not asked of the version that is registered.",
            default=[],
        ),
    },
    outputs={
        "jobId": text("Id of the job."),
        "notChecked": text("Why Nomad was not asked: what the token may not; else empty."),
        "refused": text("Why Nomad refuses the job; else empty."),
        "registeredToo": boolean("Whether the version that is registered would not be placed either."),
        "failures": objects(FAILURE, "What is not placed, by part."),
    },
)

_NAMED = rules.required_text("name the job, its group and its port")

GET_SERVICE = FunctionTable(
    "getService",
    "Where a job answers right now.",
    inputs={
        "jobId": text("Id of the job.", required=True, rule=_NAMED),
        "group": text("The job's group.", required=True, rule=_NAMED),
        "portLabel": text("Label of the group's port.", required=True, rule=_NAMED),
        "namespace": text("The job's Nomad namespace.", default="default"),
    },
    outputs={
        "allocationId": text("The newest running allocation; empty while none runs."),
        "nodeName": text("The client it runs on."),
        "host": text("Address of the port."),
        "port": integer("Number of the port; 0 while none runs."),
    },
)

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
