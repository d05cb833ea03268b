"""What getCluster returns."""

from nomad_stateful.schema.fields import ObjectType, integer, objects, text, texts
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
