"""getCluster, getJob, getService and getVolumes: what Nomad and EC2 have, before anything is asked of them."""

import re
from collections.abc import Callable
from typing import Any

from nomad_stateful.ebs.ec2_client import AwsPlace, refuse_another_account
from nomad_stateful.ebs.tags import GUARD_TAG, STACK_TAG
from nomad_stateful.ebs.volumes import EbsVolumes, Volume
from nomad_stateful.nomad import clients, running_job
from nomad_stateful.nomad.api import NomadApi, NomadNotFound
from nomad_stateful.nomad.clients import Client
from nomad_stateful.nomad.paths import job_path
from nomad_stateful.nomad.periodic_runs import failing_runs
from nomad_stateful.plugin_server.plugin import Props
from nomad_stateful.provider.account import InAccount
from nomad_stateful.provider.declared import DeclaredFunction, OnCluster
from nomad_stateful.schema.functions import GET_CLUSTER, GET_JOB, GET_SERVICE, GET_VOLUMES
from nomad_stateful.waiting import Context


class GetCluster(OnCluster, DeclaredFunction):
    """Reads the servers' versions and every client's version, zone, state, drivers and resources."""

    table = GET_CLUSTER

    def invoke(self, ctx: Context, args: Props) -> Props:
        self.table.arguments(args)
        api = self._api()
        api.reach()
        known = clients.read(api)
        ready = {one.zone for one in known if one.status == "ready" and one.zone}
        servers = _servers(api)
        oldest = min((server["version"] for server in servers), key=_version_key, default="")
        return {"version": oldest, "servers": servers, "nodes": [_node(one) for one in known], "zones": sorted(ready)}


def _node(client: Client) -> Props:
    return {
        "id": client.id,
        "name": client.name,
        "version": client.version,
        "zone": client.zone,
        "status": client.status,
        "eligibility": "eligible" if client.eligible else "ineligible",
        "datacenter": client.datacenter,
        "nodePool": client.pool,
        "drivers": client.healthy_drivers,
        "cpuMhz": client.cpu_mhz,
        "memoryMib": client.memory_mib,
    }


def _servers(api: NomadApi) -> list[Props]:
    """Returns the servers of the region that are up: gossip also knows those of federated regions, and what is gone."""
    gossip = api.get("agent/members")
    region = gossip.get("ServerRegion")
    members = [(member, member.get("Tags") or {}) for member in gossip.get("Members") or []]
    found = [
        {"name": member["Name"], "version": tags.get("build", "")}
        for member, tags in members
        if member["Status"] == "alive" and tags.get("region") == region
    ]
    return sorted(found, key=lambda server: server["name"])


def _version_key(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]


class GetJob(OnCluster, DeclaredFunction):
    """The job as it is registered now; not there is no error."""

    table = GET_JOB

    def invoke(self, ctx: Context, args: Props) -> Props:
        namespace = self.table.arguments(args)["namespace"]
        api = self._api()
        job = api.find(job_path(args["jobId"]), namespace=namespace)
        if job is None:
            return {**args, "registered": False, "tasks": [], "failingRuns": []}
        groups = [] if job.get("Stop") else job.get("TaskGroups") or []
        runs = failing_runs(api, args["jobId"], namespace) if job.get("Periodic") else []
        return {
            **args,
            "registered": True,
            "tasks": [_task(group, task) for group in groups for task in group.get("Tasks") or []],
            "failingRuns": [
                {
                    "jobId": run.job_id,
                    "failures": run.failures,
                    "since": run.since,
                    "allocationId": run.allocation_id,
                    "task": run.task,
                    "reason": run.reason,
                    "again": run.again,
                }
                for run in runs
            ],
        }


def _task(group: dict[str, Any], task: dict[str, Any]) -> Props:
    config = task.get("Config") or {}
    volumes = {mount["Volume"]: mount.get("Destination", "") for mount in task.get("VolumeMounts") or []}
    sources = group.get("Volumes") or {}
    return {
        "name": task["Name"],
        "image": str(config.get("image") or ""),
        "args": [str(argument) for argument in config.get("args") or []],
        "volumes": sorted(sources[name]["Source"] for name in volumes if name in sources),
    }


class GetService(OnCluster, DeclaredFunction):
    """The newest running allocation of a job's group and the address of its port; empty while none runs."""

    table = GET_SERVICE

    def invoke(self, ctx: Context, args: Props) -> Props:
        namespace = self.table.arguments(args)["namespace"]
        try:
            found = running_job.endpoint(self._api(), args["jobId"], namespace, args["group"], args["portLabel"])
        except NomadNotFound:
            found = None
        if found is None:
            return {**args, "allocationId": "", "nodeName": "", "host": "", "port": 0}
        return {
            **args,
            "allocationId": found.allocation_id,
            "nodeName": found.node_name,
            "host": found.host,
            "port": found.port,
        }


class GetVolumes(InAccount, DeclaredFunction):
    """In one account and region: the provider's, unless another one is given."""

    table = GET_VOLUMES

    def __init__(self, volumes: Callable[[AwsPlace], EbsVolumes] = EbsVolumes) -> None:
        self._volumes = volumes

    def invoke(self, ctx: Context, args: Props) -> Props:
        wanted = self.table.arguments(args)
        stack, place = wanted["stack"], self.given(wanted)

        def ask() -> list[Volume]:
            refuse_another_account(place, f"stack {stack}")
            return self._volumes(place).tagged({STACK_TAG: stack})

        return {**args, "volumes": [_described(one) for one in ctx.call(ask)]}


def _described(volume: Volume) -> Props:
    return {
        "id": volume.id,
        "name": volume.tags.get("Name", ""),
        "zone": volume.zone,
        "sizeGib": volume.size_gib,
        "type": volume.type,
        "iops": volume.iops or 0,
        "throughputMibps": volume.throughput_mibps or 0,
        "state": volume.state,
        "guardId": volume.tags.get(GUARD_TAG, ""),
        "tags": {key: value for key, value in volume.tags.items() if not key.startswith("aws:")},
    }
