"""The provider's classes for Pulumi programs in Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi

from nomad_stateful.sdk.base import NomadCsiResource
from nomad_stateful.sdk.ownership import Ownership
from nomad_stateful.sdk.volumes import CsiVolumeGuard, VolumeGrowth, VolumeGuard, VolumeProtection

__all__ = [
    "Cluster",
    "ClusterNode",
    "ClusterServer",
    "CsiVolumeGuard",
    "GeneratedSecret",
    "JobHealth",
    "Ownership",
    "PluginHealth",
    "Service",
    "VolumeGrowth",
    "VolumeGuard",
    "VolumeProtection",
    "VolumeRelease",
    "get_cluster",
    "get_service_output",
]


class PluginHealth(NomadCsiResource):
    """Exists once a CSI plugin is healthy: its controllers, and a node plugin in every zone that needs one."""

    plugin_id: pulumi.Output[str] = pulumi.property("pluginId")
    """Id of the CSI plugin."""
    controllers: pulumi.Output[int]
    """Controllers asked for."""
    zones: pulumi.Output[Sequence[str]]
    """Zones asked for."""
    zone_keys: pulumi.Output[Sequence[str]] = pulumi.property("zoneKeys")
    """Topology keys in which the driver names a zone."""
    timeout_s: pulumi.Output[int] = pulumi.property("timeoutS")
    """Seconds waited at most."""
    triggers: pulumi.Output[Mapping[str, str]]
    """Values whose change waits again."""
    provider: pulumi.Output[str]
    """Name the driver reports."""
    provider_version: pulumi.Output[str] = pulumi.property("providerVersion")
    """Version the driver reports."""
    topology_key: pulumi.Output[str] = pulumi.property("topologyKey")
    """First of the zone keys that every healthy node reports; "" when the driver reports none."""
    topology_keys: pulumi.Output[Sequence[str]] = pulumi.property("topologyKeys")
    """All topology keys the healthy nodes report, sorted."""
    controllers_healthy: pulumi.Output[int] = pulumi.property("controllersHealthy")
    """Healthy controllers."""
    nodes_healthy: pulumi.Output[int] = pulumi.property("nodesHealthy")
    """Healthy node plugins."""
    zones_healthy: pulumi.Output[Mapping[str, int]] = pulumi.property("zonesHealthy")
    """Healthy node plugins by zone."""

    def __init__(
        self,
        resource_name: str,
        *,
        plugin_id: pulumi.Input[str],
        controllers: pulumi.Input[int],
        zones: pulumi.Input[Sequence[pulumi.Input[str]]],
        zone_keys: pulumi.Input[Sequence[pulumi.Input[str]]],
        timeout_s: pulumi.Input[int] = 300,
        triggers: pulumi.Input[Mapping[str, pulumi.Input[str]]] | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """Waits at most `timeout_s` seconds for `controllers` controllers and a node plugin in each of `zones`.

        `zone_keys` are the topology keys in which the driver names a zone. A change of `triggers` waits again.
        """
        props = {
            "plugin_id": plugin_id,
            "controllers": controllers,
            "zones": zones,
            "zone_keys": zone_keys,
            "timeout_s": timeout_s,
            "triggers": triggers or {},
            "provider": None,
            "provider_version": None,
            "topology_key": None,
            "topology_keys": None,
            "controllers_healthy": None,
            "nodes_healthy": None,
            "zones_healthy": None,
        }
        super().__init__("nomad-csi:index:PluginHealth", resource_name, props, opts)


class VolumeRelease(NomadCsiResource):
    """Stands between a volume's consumer and its registration; its deletion waits until the volume is let go."""

    volume_id: pulumi.Output[str] = pulumi.property("volumeId")
    """Id of the volume in Nomad."""
    namespace: pulumi.Output[str]
    """Nomad namespace of the volume and its consumer."""
    backend: pulumi.Output[str]
    """Where the storage is: "ebs" or "none"."""
    external_id: pulumi.Output[str] = pulumi.property("externalId")
    """Id of the EBS volume."""
    region: pulumi.Output[str]
    """AWS region of the EBS volume."""
    account_id: pulumi.Output[str] = pulumi.property("accountId")
    """AWS account of the volume; "" where nobody recorded it."""
    aws_config: pulumi.Output[str] = pulumi.property("awsConfig")
    """The aws provider's configuration as JSON."""
    consumer_job_id: pulumi.Output[str] = pulumi.property("consumerJobId")
    """Job that is stopped before the wait."""
    registration_id: pulumi.Output[str] = pulumi.property("registrationId")
    """Stands for the registration that this release guards."""
    triggers: pulumi.Output[Mapping[str, str]]
    """Values whose change comes before one of the consumer."""
    timeout_s: pulumi.Output[int] = pulumi.property("timeoutS")
    """Seconds waited at most."""
    release_id: pulumi.Output[str] = pulumi.property("releaseId")
    """Random, new with each creation."""

    def __init__(
        self,
        resource_name: str,
        *,
        volume_id: pulumi.Input[str],
        namespace: pulumi.Input[str] = "default",
        backend: pulumi.Input[str] = "ebs",
        external_id: pulumi.Input[str] = "",
        region: pulumi.Input[str] = "",
        account_id: pulumi.Input[str] = "",
        aws_config: pulumi.Input[str] = "",
        consumer_job_id: pulumi.Input[str] = "",
        registration_id: pulumi.Input[str] = "",
        triggers: pulumi.Input[Mapping[str, pulumi.Input[str]]] | None = None,
        timeout_s: pulumi.Input[int] = 300,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """On deletion waits at most `timeout_s` seconds for Nomad, and with backend "ebs" for EC2 too.

        When `triggers` change, waits until Nomad attaches and detaches volumes: the consumer may change then.

        A job named by `consumer_job_id` that still runs is stopped first. Make the consumer depend on this resource
        and this one on the registration (`registration_id`), so that a replacement takes them in that order.
        """
        props = {
            "volume_id": volume_id,
            "namespace": namespace,
            "backend": backend,
            "external_id": external_id,
            "region": region,
            "account_id": account_id,
            "aws_config": aws_config,
            "consumer_job_id": consumer_job_id,
            "registration_id": registration_id,
            "triggers": triggers or {},
            "timeout_s": timeout_s,
            "release_id": None,
        }
        super().__init__("nomad-csi:index:VolumeRelease", resource_name, props, opts)


class GeneratedSecret(NomadCsiResource):
    """A random password of letters and digits, kept in the stack's encrypted state only."""

    length: pulumi.Output[int]
    """Number of characters."""
    keepers: pulumi.Output[Mapping[str, str]]
    """Values whose change generates a new secret."""
    result: pulumi.Output[str]
    """The secret."""

    def __init__(
        self,
        resource_name: str,
        *,
        length: pulumi.Input[int] = 32,
        keepers: pulumi.Input[Mapping[str, pulumi.Input[str]]] | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """Generates `length` characters (8 to 256), anew when `length` or `keepers` change."""
        props = {"length": length, "keepers": keepers or {}, "result": None}
        secret = pulumi.ResourceOptions(additional_secret_outputs=["result"])
        options = pulumi.ResourceOptions.merge(opts, secret)
        super().__init__("nomad-csi:index:GeneratedSecret", resource_name, props, options)


class JobHealth(NomadCsiResource):
    """Exists once the newest version of a job runs and passes its checks."""

    job_id: pulumi.Output[str] = pulumi.property("jobId")
    """Id of the job."""
    namespace: pulumi.Output[str]
    """Nomad namespace of the job."""
    group: pulumi.Output[str]
    """Task group that is waited for."""
    allocations: pulumi.Output[int]
    """Allocations that have to be healthy."""
    timeout_s: pulumi.Output[int] = pulumi.property("timeoutS")
    """Seconds waited at most."""
    triggers: pulumi.Output[Mapping[str, str]]
    """Values whose change waits again."""
    region: pulumi.Output[str]
    """AWS region of the job's EBS volumes."""
    account_id: pulumi.Output[str] = pulumi.property("accountId")
    """AWS account of the job's EBS volumes; "" where EC2 is not asked about them."""
    aws_config: pulumi.Output[str] = pulumi.property("awsConfig")
    """The aws provider's configuration as JSON."""
    owner_id: pulumi.Output[str] = pulumi.property("ownerId")
    """Owner id of the claim to the job; "" where there is none."""
    allocation_id: pulumi.Output[str] = pulumi.property("allocationId")
    """Allocation that was healthy when this was last made or updated."""
    node_name: pulumi.Output[str] = pulumi.property("nodeName")
    """Client of that allocation."""

    def __init__(
        self,
        resource_name: str,
        *,
        job_id: pulumi.Input[str],
        group: pulumi.Input[str],
        namespace: pulumi.Input[str] = "default",
        allocations: pulumi.Input[int] = 1,
        timeout_s: pulumi.Input[int] = 300,
        triggers: pulumi.Input[Mapping[str, pulumi.Input[str]]] | None = None,
        region: pulumi.Input[str] = "",
        account_id: pulumi.Input[str] = "",
        aws_config: pulumi.Input[str] = "",
        owner_id: pulumi.Input[str] = "",
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """Waits at most `timeout_s` seconds until `allocations` of `group` are healthy, anew when `triggers` change.

        With `account_id`, EBS volumes of the job that are attached where nothing claims or uses them are detached.
        """
        props = {
            "job_id": job_id,
            "group": group,
            "allocations": allocations,
            "namespace": namespace,
            "timeout_s": timeout_s,
            "triggers": triggers or {},
            "region": region,
            "account_id": account_id,
            "aws_config": aws_config,
            "owner_id": owner_id,
            "allocation_id": None,
            "node_name": None,
        }
        super().__init__("nomad-csi:index:JobHealth", resource_name, props, opts)


@dataclass(frozen=True)
class Service:
    """Where a job answers now; empty strings and 0 while it does not run."""

    allocation_id: str
    node_name: str
    host: str
    port: int


def get_service_output(
    *,
    job_id: pulumi.Input[str],
    group: pulumi.Input[str],
    port_label: pulumi.Input[str],
    namespace: pulumi.Input[str] = "default",
    parent: pulumi.Resource | None = None,
) -> pulumi.Output[Service]:
    """Asks Nomad, at each update, where the newest running allocation of a job's group answers."""
    args = {"jobId": job_id, "group": group, "portLabel": port_label, "namespace": namespace}
    options = pulumi.InvokeOutputOptions(parent=parent)
    result: pulumi.Output[dict[str, Any]] = pulumi.runtime.invoke_output("nomad-csi:index:getService", args, options)
    return result.apply(
        lambda found: Service(found["allocationId"], found["nodeName"], found["host"], int(found["port"]))
    )


@dataclass(frozen=True)
class ClusterServer:
    """One Nomad server."""

    name: str
    version: str


@dataclass(frozen=True)
class ClusterNode:
    """One Nomad client; `zone` is "" where it has none, `drivers` are its healthy task drivers.

    CPU and memory are what it has for jobs.
    """

    id: str
    name: str
    version: str
    zone: str
    status: str
    eligibility: str
    datacenter: str
    node_pool: str
    drivers: tuple[str, ...]
    cpu_mhz: int
    memory_mib: int


@dataclass(frozen=True)
class Cluster:
    """What a Nomad cluster offers; `zones` are those that have a ready client."""

    version: str
    servers: tuple[ClusterServer, ...]
    nodes: tuple[ClusterNode, ...]
    zones: tuple[str, ...]

    @classmethod
    def of(cls, answer: Mapping[str, Any]) -> Cluster:
        """From what the provider's function answers."""
        nodes = tuple(
            ClusterNode(
                id=node["id"],
                name=node["name"],
                version=node["version"],
                zone=node["zone"],
                status=node["status"],
                eligibility=node["eligibility"],
                datacenter=node["datacenter"],
                node_pool=node["nodePool"],
                drivers=tuple(node["drivers"]),
                cpu_mhz=int(node["cpuMhz"]),
                memory_mib=int(node["memoryMib"]),
            )
            for node in answer["nodes"]
        )
        servers = tuple(ClusterServer(server["name"], server["version"]) for server in answer["servers"])
        return cls(version=answer["version"], servers=servers, nodes=nodes, zones=tuple(answer["zones"]))


def get_cluster() -> Cluster:
    """Asks Nomad for its version, clients and zones; blocks until it answers."""
    return Cluster.of(pulumi.runtime.invoke("nomad-csi:index:getCluster", {}).value)
