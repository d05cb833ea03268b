"""The package's Pulumi schema: every input and output with its type and what it means.

https://www.pulumi.com/docs/iac/guides/building-extending/packages/schema/
"""

from __future__ import annotations

from typing import Any

Property = dict[str, Any]


def _typed(kind: str, description: str, **more: Any) -> Property:
    return {"type": kind, "description": description} | more


def _text(description: str, **more: Any) -> Property:
    return _typed("string", description, **more)


def _integer(description: str, **more: Any) -> Property:
    return _typed("integer", description, **more)


def _list(description: str, **more: Any) -> Property:
    return _typed("array", description, items={"type": "string"}, **more)


def _map(of: str, description: str, **more: Any) -> Property:
    return _typed("object", description, additionalProperties={"type": of}, **more)


_PLUGIN_HEALTH_INPUTS = {
    "pluginId": _text("Id of the CSI plugin, as in its jobs' csi_plugin blocks.", replaceOnChanges=True),
    "controllers": _integer("Healthy controllers to wait for; 0 for a driver without a controller.", default=1),
    "zones": _list(
        "Availability zones in each of which at least one node plugin must be healthy; empty: one anywhere."
    ),
    "zoneKeys": _list("Topology keys in which the driver names a node's zone, the preferred one first."),
    "timeoutS": _integer("Seconds to wait before failing.", default=300),
    "triggers": _map("string", "Any values; when one changes, the plugin's health is waited for again."),
}
_PLUGIN_HEALTH_OUTPUTS = {
    "provider": _text("Name the driver reports."),
    "providerVersion": _text("Version the driver reports."),
    "topologyKey": _text("First of zoneKeys that every healthy node reports; empty when the driver reports none."),
    "topologyKeys": _list("All topology keys the healthy nodes report, sorted."),
    "controllersHealthy": _integer("Healthy controllers."),
    "nodesHealthy": _integer("Healthy node plugins."),
    "zonesHealthy": _map("integer", "Healthy node plugins by availability zone."),
}
_AWS_PLACE = {
    "accountId": _text(
        "AWS account the volume is in. Only there is a volume that EC2 does not find taken to be gone.", default=""
    ),
    "awsConfig": _text("The aws provider's configuration as JSON; empty: all of it is in the environment.", default=""),
}
_JOB_HEALTH_INPUTS = {
    "jobId": _text("Id of the job.", replaceOnChanges=True),
    "group": _text("The job's group that must run.", replaceOnChanges=True),
    "namespace": _text("The job's Nomad namespace.", default="default", replaceOnChanges=True),
    "allocations": _integer("Allocations that have to be healthy.", default=1),
    "triggers": _map("string", "Any values; when one changes, the job's health is waited for again."),
    "region": _text("AWS region of the job's EBS volumes; empty: the AWS configuration's.", default=""),
    "accountId": _text(
        "AWS account of the job's EBS volumes. Where it is given, what keeps the job waiting is looked for in EC2: an "
        "attachment that nothing claims, uses or has mounted is detached, any other is named.",
        default="",
    ),
    "awsConfig": _AWS_PLACE["awsConfig"],
    "timeoutS": _integer("Seconds to wait before failing.", default=300),
    "ownerId": _text("Owner id of the claim to the job, if there is one: deletion stops at another's.", default=""),
}
_JOB_HEALTH_OUTPUTS = {
    "allocationId": _text("The healthy allocation."),
    "nodeName": _text("The client it runs on."),
}
_VOLUME_RELEASE_INPUTS = {
    "volumeId": _text("Id of the volume in Nomad.", replaceOnChanges=True),
    "namespace": _text("Nomad namespace of the volume and its consumer.", default="default", replaceOnChanges=True),
    "backend": _text(
        'Where the storage is: "ebs" also waits until EC2 has the volume detached, "none" for Nomad alone.',
        default="ebs",
    ),
    "externalId": _text("Id of the EBS volume (vol-...); needed for backend ebs.", replaceOnChanges=True),
    "region": _text("AWS region of the EBS volume; empty: the AWS configuration's."),
    **_AWS_PLACE,
    "consumerJobId": _text(
        "Job to stop, if it still runs, before waiting; empty: none is stopped.", replaceOnChanges=True
    ),
    "registrationId": _text(
        "Any value of the registration; a new one means that it is replaced.", replaceOnChanges=True
    ),
    "triggers": _map(
        "string",
        "Any values; when one changes, the consumer is about to: it is waited for until Nomad attaches and detaches.",
    ),
    "timeoutS": _integer("Seconds that each wait may take.", default=300),
}
_VOLUME_RELEASE_OUTPUTS = {"releaseId": _text("Random, new with each creation: lets a consumer follow a replacement.")}
_VOLUME_GUARD_INPUTS = {
    "volumeName": _text("Name of the volume in the stack's settings."),
    "zone": _text("Availability zone the volume lives in; refused when it changes."),
    "sizeGib": _integer("Size in GiB; refused when it becomes smaller."),
    "snapshotId": _text("Snapshot the volume is restored from; refused when set for a volume that exists.", default=""),
    "encrypted": _typed("boolean", "Whether it is encrypted at rest; refused when it changes.", default=True),
    "kmsKeyId": _text("KMS key; empty: the account's default. Refused when it changes.", default=""),
    "protect": _typed("boolean", "Whether the volume is protected against deletion.", default=True),
    "finalSnapshot": _typed(
        "boolean", "Whether a snapshot is taken before deletion; by default when the volume is, or was, protected."
    ),
    "region": _text("AWS region of the volume; empty: the AWS configuration's.", default=""),
    **_AWS_PLACE,
    "guardId": _text("Value of the tag nomad-stateful-guard that the volume is to carry; made up when not given."),
}
_CSI_VOLUME_GUARD_INPUTS = {
    "volumeId": _text("Id of the volume in Nomad."),
    "pluginId": _text("Id of the plugin; refused when it changes for a volume that the driver made."),
    "namespace": _text(
        "Nomad namespace; refused when it changes for a volume that the driver made.", default="default"
    ),
    "externalId": _text("Id at the storage provider, where the driver does not make it; another id is another volume."),
    "madeByDriver": _typed("boolean", "Whether the driver makes the volume; refused when it changes.", default=False),
    "hasContents": _typed(
        "boolean", "Whether the volume came with contents: it existed, or is a snapshot's.", default=False
    ),
    "capacity": _text("Size with its unit, of a volume that the driver makes; refused when it becomes smaller."),
    "zone": _text("Zone it lives in; refused when it changes for a volume that the driver made."),
    "snapshotId": _text("Snapshot that the driver makes it from; refused when set for a volume that exists."),
    "parameters": _map("string", "The driver's parameters; refused when they change for a volume that it made."),
    "accessMode": _text("Access mode; refused when it changes for a volume that the driver made and a job uses."),
    "attachmentMode": _text("file-system or block-device; refused when it changes.", default="file-system"),
    "fsType": _text("File system it is formatted with; refused when it changes."),
    "mountFlags": _list("Mount flags; refused when they change for a volume that the driver made and a job uses."),
    "protect": _typed("boolean", "Whether the volume is protected against deletion.", default=True),
    "finalSnapshot": _typed(
        "boolean", "Whether a snapshot is taken before deletion; by default when the volume is, or was, protected."
    ),
}
_VOLUME_PROTECTION_INPUTS = {
    "volumeName": _text("Name of the volume in the stack's settings."),
    "volumeId": _text("Id of the volume at the storage provider.", replaceOnChanges=True),
    "finalSnapshot": _typed("boolean", "Whether deletion takes a snapshot of the EBS volume.", default=True),
    "namespace": _text("Nomad namespace of a volume that its driver made; empty: Pulumi made it.", default=""),
    "region": _text("AWS region of the volume; empty: the AWS configuration's.", default=""),
    **_AWS_PLACE,
    "timeoutS": _integer("Seconds that the snapshot may take.", default=3600),
}
_VOLUME_GROWTH_INPUTS = {
    "volumeId": _text("Id of the volume in Nomad.", replaceOnChanges=True),
    "sizeGib": _integer("Size the volume has, in GiB; when it changes, the file system grows."),
    "namespace": _text("Nomad namespace of the volume.", default="default", replaceOnChanges=True),
    "registrationId": _text("Any value of the registration, which has to exist first.", default=""),
    "mountFlags": _list("The registration's mount flags, which Nomad does not show."),
    "secrets": _map("string", "The registration's secrets, which Nomad does not show.", secret=True),
    "mode": _text(
        '"online" grows the file system while it is mounted and never restarts anything. "online-or-restart" has the '
        'consumer restarted where the driver cannot expand volumes, "restart" also where Nomad or the controller '
        "refuses. What the client refuses is an error in each mode: after it, a restart could not mount the volume.",
        default="online-or-restart",
    ),
    "timeoutS": _integer("Seconds that growing online may take.", default=180),
}
_VOLUME_GROWTH_OUTPUTS = {"restartId": _text("Changes when the consumer has to restart, which follows this value.")}
_GENERATED_SECRET_INPUTS = {
    "length": _integer("Number of characters, 8 to 256.", default=32, replaceOnChanges=True),
    "keepers": _map("string", "Any values; when one changes, a new secret is generated.", replaceOnChanges=True),
}
_OWNERSHIP_INPUTS = {
    "kind": _text('What is claimed: "job" or "volume".', replaceOnChanges=True),
    "resourceId": _text("Id of the job or volume in Nomad.", replaceOnChanges=True),
    "namespace": _text("Its Nomad namespace.", default="default", replaceOnChanges=True),
    "stack": _text("Full name of the stack, organization/project/stack, for those who meet the claim."),
    "expects": _text(
        'What may be there when the claim is taken: "nothing", something "unclaimed", or a claim by its owner id.',
        default="nothing",
    ),
}
_OWNERSHIP_OUTPUTS = {"ownerId": _text("Random; it stands in the claim.")}
_GENERATED_SECRET_OUTPUTS = {"result": _text("The secret: letters and digits, at least one of each kind.", secret=True)}
_CONFIG = {
    "address": _text("Nomad's address, http(s)://host:port; by default NOMAD_ADDR."),
    "secretId": _text("Nomad ACL token; by default NOMAD_TOKEN.", secret=True),
    "region": _text("Nomad region; by default NOMAD_REGION."),
    "caFile": _text("File with the CA of Nomad's certificate; by default NOMAD_CACERT."),
    "caPem": _text("The CA itself, in place of a file."),
    "certFile": _text("File with the client certificate; by default NOMAD_CLIENT_CERT."),
    "certPem": _text("The client certificate itself, in place of a file."),
    "keyFile": _text("File with the client certificate's key; by default NOMAD_CLIENT_KEY."),
    "keyPem": _text("The key itself, in place of a file.", secret=True),
    "skipVerify": _typed("boolean", "Do not verify Nomad's certificate; by default NOMAD_SKIP_VERIFY."),
}
_NODE = {
    "id": _text("The client's id."),
    "name": _text("The client's name."),
    "version": _text("Its version of Nomad."),
    "zone": _text("Its availability zone; empty where it has none."),
    "status": _text("initializing, ready, down or disconnected."),
    "eligibility": _text("eligible or ineligible for new allocations."),
    "datacenter": _text("Its datacenter."),
    "nodePool": _text("Its node pool."),
    "drivers": _list("Its healthy task drivers."),
    "cpuMhz": _integer("CPU that it has for jobs, in MHz."),
    "memoryMib": _integer("Memory that it has for jobs, in MiB."),
}
_SERVER = {"name": _text("The server's name."), "version": _text("Its version of Nomad.")}
_CLUSTER = {
    "version": _text("The oldest version among the servers."),
    "servers": _typed(
        "array", "The region's servers, sorted by name.", items={"$ref": "#/types/nomad-csi:index:ClusterServer"}
    ),
    "nodes": _typed("array", "Every client, sorted by name.", items={"$ref": "#/types/nomad-csi:index:ClusterNode"}),
    "zones": _list("Availability zones that have a ready client, sorted."),
}

_SERVICE_ARGS = {
    "jobId": _text("Id of the job."),
    "group": _text("The job's group."),
    "portLabel": _text("Label of the group's port."),
    "namespace": _text("The job's Nomad namespace.", default="default"),
}
_SERVICE = {
    "allocationId": _text("The newest running allocation; empty while none runs."),
    "nodeName": _text("The client it runs on."),
    "host": _text("Address of the port."),
    "port": _integer("Number of the port; 0 while none runs."),
}
_VOLUMES_ARGS = {
    "stack": _text("The stack that the volumes are tagged with (nomad-stateful-stack), as PROJECT/STACK."),
    "region": _text("AWS region; empty is the AWS configuration's.", default=""),
    "accountId": _text("AWS account of the stack; another one's answer is refused.", default=""),
    "awsConfig": _text("The aws provider's configuration as JSON.", default=""),
}
_VOLUME = {
    "id": _text("Id of the EBS volume."),
    "name": _text("Its tag Name: the volume's id in Nomad."),
    "zone": _text("Its availability zone."),
    "sizeGib": _integer("Its size in GiB."),
    "type": _text("Its type."),
    "iops": _integer("Its IOPS."),
    "throughputMibps": _integer("Its throughput in MiB/s; 0 where its type has none."),
    "state": _text("creating, available, in-use or error."),
    "guardId": _text("Its tag nomad-stateful-guard."),
    "tags": _map("string", "All its tags."),
}
_VOLUMES = {
    "volumes": _typed("array", "The volumes.", items={"$ref": "#/types/nomad-csi:index:StackVolume"}),
}
_JOB_ARGS = {
    "jobId": _text("Id of the job."),
    "namespace": _text("The job's Nomad namespace.", default="default"),
}
_TASK = {
    "name": _text("The task's name."),
    "image": _text("Its image; empty where its driver runs none."),
    "args": _list("Its arguments."),
    "volumes": _list("Sources of the volumes it mounts, sorted."),
}
_FAILING_RUN = {
    "jobId": _text("Id of the run's own job."),
    "failures": _integer("Allocations of it that failed."),
    "since": _text("When it was launched, in UTC."),
    "allocationId": _text("The newest allocation that failed."),
    "reason": _text("What that one's task ended with."),
    "again": _typed("boolean", "Whether Nomad tries again."),
}
_JOB = {
    "registered": _typed("boolean", "Whether there is such a job."),
    "tasks": _typed(
        "array",
        "Its tasks; none while it is stopped.",
        items={"$ref": "#/types/nomad-csi:index:JobTask"},
    ),
    "failingRuns": _typed(
        "array",
        "Runs of a periodic job that have failed and not succeeded since, as long as Nomad knows them.",
        items={"$ref": "#/types/nomad-csi:index:FailingRun"},
    ),
}
_PLACEMENT_ARGS = {
    "jobspec": _text("Text of a job file (HCL) with one group."),
    "variables": _text("Values of its variables, as in a variables file.", default=""),
    "namespace": _text("The job's Nomad namespace, by default its own."),
    "parts": _typed(
        "array",
        "The group's instances, by what they ask of a client beyond the job.",
        items={"$ref": "#/types/nomad-csi:index:PlacementPart"},
    ),
    "constraints": _typed(
        "array",
        "What all instances ask beyond the job; not asked of the version that is registered.",
        items={"$ref": "#/types/nomad-csi:index:PlacementConstraint"},
    ),
}
_PLACEMENT_PART = {
    "name": _text("The part's name."),
    "count": _integer("Instances."),
    "constraints": _typed(
        "array",
        "Further constraints on their clients.",
        items={"$ref": "#/types/nomad-csi:index:PlacementConstraint"},
    ),
}
_PLACEMENT_CONSTRAINT = {
    "attribute": _text("What is compared."),
    "operator": _text("How."),
    "value": _text("With what."),
}
_PLACEMENT_FAILURE = {
    "part": _text("The part that is not placed."),
    "missing": _integer("Instances of it without a client."),
    "clients": _integer("Clients that were looked at: ready, eligible, of the job's node pool and datacenters."),
    "unfit": _map("integer", "How many of them fail a constraint, by the constraint."),
    "full": _map("integer", "How many have too little left of a resource, by the resource."),
}
_PLACEMENT = {
    "jobId": _text("Id of the job."),
    "notChecked": _text("Why Nomad was not asked: what the token may not; else empty."),
    "refused": _text("Why Nomad refuses the job; else empty."),
    "registeredToo": _typed("boolean", "Whether the version that is registered would not be placed either."),
    "failures": _typed(
        "array", "What is not placed, by part.", items={"$ref": "#/types/nomad-csi:index:PlacementFailure"}
    ),
}


_OWNERS_ARGS = {
    "namespace": _text("The Nomad namespace.", default="default"),
    "jobs": _list("Ids of jobs."),
    "volumes": _list("Ids of volumes."),
}
_OWNED = {
    "kind": _text('"job" or "volume".'),
    "id": _text("Its id."),
    "exists": _typed("boolean", "Whether Nomad has it, or the variable of such a job."),
    "stopped": _typed("boolean", "Whether it is a job that was stopped."),
    "users": _list("Jobs that have claims to the volume, sorted."),
    "claim": _text("Path of the variable that is the claim to it."),
    "stack": _text("The stack that has the claim; empty where none does."),
    "ownerId": _text("That stack's owner id."),
}
_REGISTRATION = {
    "namespace": _text("Its Nomad namespace."),
    "id": _text("Its id."),
    "externalId": _text("Id at the storage provider."),
    "pluginId": _text("Id of its plugin."),
}
_OWNERS = {
    "found": _typed("array", "The jobs and volumes.", items={"$ref": "#/types/nomad-csi:index:Owned"}),
    "registrations": _typed(
        "array",
        "All CSI volumes of the namespaces that the token may see.",
        items={"$ref": "#/types/nomad-csi:index:Registration"},
    ),
}


def _resource(
    description: str, inputs: dict[str, Property], outputs: dict[str, Property], required: list[str]
) -> dict[str, Any]:
    properties = inputs | outputs
    return {
        "description": description,
        "inputProperties": inputs,
        "requiredInputs": required,
        "properties": {key: {k: v for k, v in value.items() if k != "default"} for key, value in properties.items()},
        "required": sorted(properties),
    }


_RESOURCES = {
    "nomad-csi:index:PluginHealth": _resource(
        "Exists once a CSI plugin is healthy: its controllers, and a node plugin in every zone.",
        _PLUGIN_HEALTH_INPUTS,
        _PLUGIN_HEALTH_OUTPUTS,
        ["pluginId"],
    ),
    "nomad-csi:index:JobHealth": _resource(
        "Exists once the newest version of a job runs and passes its checks.",
        _JOB_HEALTH_INPUTS,
        _JOB_HEALTH_OUTPUTS,
        ["group", "jobId"],
    ),
    "nomad-csi:index:VolumeGuard": _resource(
        "Refuses at preview what would cost a volume its data: another zone, a smaller size, another key.",
        _VOLUME_GUARD_INPUTS,
        {},
        ["sizeGib", "volumeName", "zone"],
    ),
    "nomad-csi:index:CsiVolumeGuard": _resource(
        "Refuses at preview what the contents of a CSI volume would not survive: another file system, another zone.",
        _CSI_VOLUME_GUARD_INPUTS,
        {},
        ["pluginId", "volumeId"],
    ),
    "nomad-csi:index:VolumeProtection": _resource(
        "Has to be deleted before a volume can be, and takes the volume's final snapshot when it is.",
        _VOLUME_PROTECTION_INPUTS,
        {},
        ["volumeId", "volumeName"],
    ),
    "nomad-csi:index:VolumeGrowth": _resource(
        "Grows a volume's file system after the volume, while it is mounted or by a restart of its consumer.",
        _VOLUME_GROWTH_INPUTS,
        _VOLUME_GROWTH_OUTPUTS,
        ["sizeGib", "volumeId"],
    ),
    "nomad-csi:index:VolumeRelease": _resource(
        "Between a volume's consumer and its registration; its deletion waits until the volume is let go.",
        _VOLUME_RELEASE_INPUTS,
        _VOLUME_RELEASE_OUTPUTS,
        ["volumeId"],
    ),
    "nomad-csi:index:GeneratedSecret": _resource(
        "A random password, kept in the stack's encrypted state only.",
        _GENERATED_SECRET_INPUTS,
        _GENERATED_SECRET_OUTPUTS,
        [],
    ),
    "nomad-csi:index:Ownership": _resource(
        "The claim to a job's or a volume's id, which one stack alone can have.",
        _OWNERSHIP_INPUTS,
        _OWNERSHIP_OUTPUTS,
        ["kind", "resourceId", "stack"],
    ),
}
_FUNCTIONS = {
    "nomad-csi:index:getCluster": {
        "description": "What the Nomad cluster offers: its version, clients and zones.",
        "outputs": {"type": "object", "properties": _CLUSTER, "required": sorted(_CLUSTER)},
    },
    "nomad-csi:index:getJob": {
        "description": "What a job runs as it is registered, and which of its periodic runs fail.",
        "inputs": {"type": "object", "properties": _JOB_ARGS, "required": ["jobId"]},
        "outputs": {"type": "object", "properties": _JOB, "required": sorted(_JOB)},
    },
    "nomad-csi:index:getVolumes": {
        "description": "The EBS volumes that carry a stack's tag, whether or not its state knows them.",
        "inputs": {"type": "object", "properties": _VOLUMES_ARGS, "required": ["stack"]},
        "outputs": {"type": "object", "properties": _VOLUMES, "required": sorted(_VOLUMES)},
    },
    "nomad-csi:index:getPlacement": {
        "description": "Whether Nomad's scheduler would find clients for a job, of which nothing is submitted.",
        "inputs": {"type": "object", "properties": _PLACEMENT_ARGS, "required": ["jobspec", "parts"]},
        "outputs": {"type": "object", "properties": _PLACEMENT, "required": sorted(_PLACEMENT)},
    },
    "nomad-csi:index:getOwners": {
        "description": "Which jobs and volumes exist, and which stack each belongs to.",
        "inputs": {"type": "object", "properties": _OWNERS_ARGS, "required": []},
        "outputs": {"type": "object", "properties": _OWNERS, "required": sorted(_OWNERS)},
    },
    "nomad-csi:index:getService": {
        "description": "Where a job answers right now.",
        "inputs": {
            "type": "object",
            "properties": _SERVICE_ARGS,
            "required": ["group", "jobId", "portLabel"],
        },
        "outputs": {"type": "object", "properties": _SERVICE, "required": sorted(_SERVICE)},
    },
}


def package_schema(version: str) -> dict[str, Any]:
    """The schema of the package nomad-csi."""
    return {
        "name": "nomad-csi",
        "version": version,
        "description": "Waits for CSI plugins and volumes of HashiCorp Nomad, and a secret generated for the stack.",
        "config": {"variables": _CONFIG},
        "provider": {"description": "The connection to Nomad.", "inputProperties": _CONFIG},
        "types": {
            "nomad-csi:index:ClusterServer": {
                "type": "object",
                "description": "One Nomad server.",
                "properties": _SERVER,
                "required": sorted(_SERVER),
            },
            "nomad-csi:index:ClusterNode": {
                "type": "object",
                "description": "One Nomad client.",
                "properties": _NODE,
                "required": sorted(_NODE),
            },
            "nomad-csi:index:StackVolume": {
                "type": "object",
                "description": "An EBS volume of a stack.",
                "properties": _VOLUME,
                "required": sorted(_VOLUME),
            },
            "nomad-csi:index:JobTask": {
                "type": "object",
                "description": "One task of a job.",
                "properties": _TASK,
                "required": sorted(_TASK),
            },
            "nomad-csi:index:Owned": {
                "type": "object",
                "description": "A job or volume, and whose it is.",
                "properties": _OWNED,
                "required": sorted(_OWNED),
            },
            "nomad-csi:index:Registration": {
                "type": "object",
                "description": "A registered CSI volume.",
                "properties": _REGISTRATION,
                "required": sorted(_REGISTRATION),
            },
            "nomad-csi:index:FailingRun": {
                "type": "object",
                "description": "A run of a periodic job that has failed and not succeeded since.",
                "properties": _FAILING_RUN,
                "required": sorted(_FAILING_RUN),
            },
            "nomad-csi:index:PlacementPart": {
                "type": "object",
                "description": "Instances of a group that ask the same of a client.",
                "properties": _PLACEMENT_PART,
                "required": ["count", "name"],
            },
            "nomad-csi:index:PlacementConstraint": {
                "type": "object",
                "description": "A constraint on clients.",
                "properties": _PLACEMENT_CONSTRAINT,
                "required": [],
            },
            "nomad-csi:index:PlacementFailure": {
                "type": "object",
                "description": "Instances for which there is no client, and what Nomad counted.",
                "properties": _PLACEMENT_FAILURE,
                "required": sorted(_PLACEMENT_FAILURE),
            },
        },
        "resources": _RESOURCES,
        "functions": _FUNCTIONS,
    }
