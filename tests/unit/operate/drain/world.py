"""A cluster of three clients, two in one zone, with a database on client-1; and what happens when it is stopped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from nomad_stateful.ebs.volumes import Attachment, EbsVolumes, Volume
from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.fingerprint import INSTANCE_ATTRIBUTE, ZONE_ATTRIBUTE

KEY, PLUGIN, VOLUME, EXTERNAL = "topology.ebs.csi.aws.com/zone", "ebs", "data", "vol-0123456789abcdef0"
Json = dict[str, Any]
ZONES = {"1": "z-a", "2": "z-a", "3": "z-b"}


def job(job_id: str, kind: str = "service", *, volume: str = "", plugin: bool = False) -> Json:
    task: Json = {"Name": "main", "CSIPluginConfig": {"ID": PLUGIN} if plugin else None}
    volumes = {"data": {"Type": "csi", "Source": volume}} if volume else {}
    group = {"Name": "g", "Count": 1, "Volumes": volumes, "Tasks": [task]}
    return {
        "ID": job_id,
        "Type": kind,
        "NodePool": "default",
        "Datacenters": ["*"],
        "TaskGroups": [group],
        "Version": 0,
    }


class World:
    """Canned answers of Nomad and EC2 that change as the drain acts."""

    def __init__(self) -> None:
        self.nodes = {number: self._node(number, zone) for number, zone in ZONES.items()}
        self.jobs = {
            "mysql": job("mysql", volume=VOLUME),
            "web": job("web"),
            "node": job("node", "system", plugin=True),
            "controller": job("controller", plugin=True),
        }
        self.allocs = {f"{name}-1": self.alloc(f"{name}-1", name, "1") for name in self.jobs}
        self.claimed_by = {"mysql-1"}
        self.attached = [Attachment("i-1", "/dev/xvdaa", "attached")]
        self.controllers_healthy = True
        self.unhealthy_nodes: set[str] = set()
        self.did: list[str] = []
        self.failed: Json = {}
        self.after: list[Callable[[], None]] = []
        """What happens by itself, one step for each look at the volume or at a job's allocations."""

    @staticmethod
    def _node(number: str, zone: str) -> Json:
        return {
            "ID": f"aaaa000{number}",
            "Name": f"client-{number}",
            "Status": "ready",
            "SchedulingEligibility": "eligible",
            "Datacenter": "dc1",
            "NodePool": "default",
            "DrainStrategy": None,
            "Attributes": {INSTANCE_ATTRIBUTE: f"i-{number}", ZONE_ATTRIBUTE: zone},
            "CSINodePlugins": {PLUGIN: {"Healthy": True}},
        }

    def alloc(self, alloc_id: str, job_id: str, number: str, **more: Any) -> Json:
        return {
            "ID": alloc_id,
            "Name": f"{job_id}.g[0]",
            "Namespace": "default",
            "JobID": job_id,
            "Job": self.jobs[job_id],
            "TaskGroup": "g",
            "NodeID": f"aaaa000{number}",
            "NodeName": f"client-{number}",
            "DesiredStatus": "run",
            "ClientStatus": "running",
            **more,
        }

    def end(self, alloc_id: str) -> None:
        """Its tasks are over; its volume is mounted still."""
        self.allocs[alloc_id] |= {"DesiredStatus": "stop", "ClientStatus": "complete"}

    def unmount(self) -> None:
        self.claimed_by.clear()

    def detach(self) -> None:
        self.attached = []

    def start_elsewhere(self) -> None:
        healthy = {"DeploymentStatus": {"Healthy": True}}
        self.allocs["mysql-2"] = self.alloc("mysql-2", "mysql", "2", **healthy)
        self.attached = [Attachment("i-2", "/dev/xvdaa", "attached")]

    @property
    def api(self) -> NomadApi:
        return cast("NomadApi", self)

    @property
    def ebs(self) -> EbsVolumes:
        return cast("EbsVolumes", self)

    # EC2

    def state(self, _volume_id: str) -> Volume:
        return Volume(EXTERNAL, "in-use" if self.attached else "available", self.attached)

    def attached_to(self, instance_id: str) -> list[str]:
        return ["vol-root", *(EXTERNAL for one in self.attached if one.instance_id == instance_id)]

    def instance_states(self, instance_ids: list[str]) -> dict[str, str]:
        return dict.fromkeys(instance_ids, "running")

    # Nomad

    def get(self, path: str, **_more: Any) -> Any:
        found = self.find(path)
        assert found is not None, path
        return found

    def find(self, path: str, **_more: Any) -> Any:
        kind, _, rest = path.partition("/")
        if path == "nodes":
            return list(self.nodes.values())
        if path == "volumes":
            return [{"ID": VOLUME, "Namespace": "default", "ExternalID": EXTERNAL}]
        if kind == "node":
            node = next(one for one in self.nodes.values() if one["ID"] == rest.partition("/")[0])
            mine = [one for one in self.allocs.values() if one["NodeID"] == node["ID"]]
            return mine if rest.endswith("/allocations") else node
        if kind == "job":
            name = rest.partition("/")[0]
            if not rest.endswith("/allocations"):
                return self.jobs.get(name)
            self._step()
            return [one for one in self.allocs.values() if one["JobID"] == name]
        if kind == "allocation":
            return self.allocs.get(rest)
        if path == f"volume/csi/{VOLUME}":
            return self._volume()
        if path == f"plugin/csi/{PLUGIN}":
            return self._plugin()
        return None

    def put(self, path: str, body: Json, **_more: Any) -> Any:
        kind, _, rest = path.partition("/")
        if rest.endswith("/plan"):
            return {"FailedTGAllocs": self.failed}
        self.did.append(path)
        if kind == "allocation":
            self.end(rest.partition("/")[0])
        elif rest.endswith("/eligibility"):
            self._node_of(rest)["SchedulingEligibility"] = body["Eligibility"]
        elif rest.endswith("/drain") and body["DrainSpec"]:
            for one in self.allocs.values():
                system = one["Job"]["Type"] == "system"
                if one["NodeID"] == rest.partition("/")[0] and not (system and body["DrainSpec"]["IgnoreSystemJobs"]):
                    one |= {"DesiredStatus": "stop", "ClientStatus": "complete"}
        return {}

    def _node_of(self, rest: str) -> Json:
        return next(one for one in self.nodes.values() if one["ID"] == rest.partition("/")[0])

    def _step(self) -> None:
        if self.after:
            self.after.pop(0)()

    def _volume(self) -> Json:
        self._step()
        return {
            "ID": VOLUME,
            "ExternalID": EXTERNAL,
            "PluginID": PLUGIN,
            "AccessMode": "single-node-writer",
            "Topologies": [{"Segments": {KEY: "z-a"}}],
            "WriteAllocs": dict.fromkeys(self.claimed_by),
            "Allocations": [self.allocs[one] for one in self.claimed_by if one in self.allocs],
        }

    def _plugin(self) -> Json:
        known: Json = {
            node["ID"]: {
                "Healthy": number not in self.unhealthy_nodes,
                "NodeInfo": {"AccessibleTopology": {"Segments": {KEY: ZONES[number]}}},
            }
            for number, node in self.nodes.items()
        }
        info = {"SupportsAttachDetach": True}
        controller = {"Healthy": self.controllers_healthy, "AllocID": "controller-1", "ControllerInfo": info}
        return {"ID": PLUGIN, "ControllerRequired": True, "Controllers": {"aaaa0001": controller}, "Nodes": known}
