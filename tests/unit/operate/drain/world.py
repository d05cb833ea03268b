"""A cluster of three clients, two in one zone, with a database on client-1; and what happens when it is stopped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from nomad_stateful.ebs.volumes import Attachment, EbsVolumes, Volume
from nomad_stateful.nomad.fingerprint import INSTANCE_ATTRIBUTE, ZONE_ATTRIBUTE
from tests.fake_nomad import FakeNomad
from tests.fake_nomad.answers import Asked

KEY, PLUGIN, VOLUME, EXTERNAL = "topology.ebs.csi.aws.com/zone", "ebs", "data", "vol-0123456789abcdef0"
Json = dict[str, Any]
ZONES = {"1": "z-a", "2": "z-a", "3": "z-b"}
FIRST, SECOND = "node/aaaa0001", "node/aaaa0002"


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
    """What Nomad and EC2 answer, which changes as the drain acts."""

    def __init__(self, nomad: FakeNomad) -> None:
        self.nomad = nomad
        self.claimed_by = {"mysql-1"}
        self.attached = [Attachment("i-1", "/dev/xvdaa", "attached")]
        self.controllers_healthy = True
        self.unhealthy_nodes: set[str] = set()
        self.after: list[Callable[[], None]] = []
        """What happens by itself, one step for each look at the volume or at the database's allocations."""
        for number, zone in ZONES.items():
            nomad.put(f"node/aaaa000{number}", self._node(number, zone))
        for one in (
            job("mysql", volume=VOLUME),
            job("web"),
            job("node", "system", plugin=True),
            job("controller", plugin=True),
        ):
            nomad.put(f"job/{one['ID']}", one)
            self.place(f"{one['ID']}-1", one, "1")
        nomad.put("volumes", [{"ID": VOLUME, "Namespace": "default", "ExternalID": EXTERNAL}])
        nomad.put(f"volume/csi/{VOLUME}", self._volume)
        nomad.put(f"plugin/csi/{PLUGIN}", self._plugin)
        nomad.put("job/mysql/allocations", self._allocations)
        nomad.put("job/mysql/plan", {"FailedTGAllocs": {}})
        nomad.after = {
            "PUT allocation/mysql-1/stop": lambda _: self.end("mysql-1"),
            f"PUT {FIRST}/drain": self._drain,
        }

    @staticmethod
    def _node(number: str, zone: str) -> Json:
        return {
            "Name": f"client-{number}",
            "Status": "ready",
            "SchedulingEligibility": "eligible",
            "Datacenter": "dc1",
            "NodePool": "default",
            "DrainStrategy": None,
            "Attributes": {INSTANCE_ATTRIBUTE: f"i-{number}", ZONE_ATTRIBUTE: zone},
            "CSINodePlugins": {PLUGIN: {"Healthy": True}},
        }

    def place(self, alloc_id: str, of: Json, number: str, **more: Any) -> None:
        """Has an allocation of a job run on a client."""
        base = {"Name": f"{of['ID']}.g[0]", "JobID": of["ID"], "Job": of, "TaskGroup": "g"}
        where = {"NodeID": f"aaaa000{number}", "NodeName": f"client-{number}"}
        runs = {"DesiredStatus": "run", "ClientStatus": "running"}
        self.nomad.put(f"allocation/{alloc_id}", {**base, **where, **runs, **more})

    def end(self, alloc_id: str) -> None:
        """Its tasks are over; its volume is mounted still."""
        self.nomad.change(f"allocation/{alloc_id}", DesiredStatus="stop", ClientStatus="complete")

    def status(self, alloc_id: str) -> str:
        return str(self.nomad.records[f"allocation/{alloc_id}"]["ClientStatus"])

    def unmount(self) -> None:
        self.claimed_by.clear()

    def detach(self) -> None:
        self.attached = []

    def start_elsewhere(self) -> None:
        self.place("mysql-2", self.nomad.records["job/mysql"], "2", DeploymentStatus={"Healthy": True})
        self.attached = [Attachment("i-2", "/dev/xvdaa", "attached")]

    @property
    def did(self) -> list[str]:
        """What Nomad was told, in order."""
        return [one.removeprefix("PUT ") for one in self.nomad.writes]

    @property
    def ebs(self) -> EbsVolumes:
        return cast("EbsVolumes", self)

    def state(self, _volume_id: str) -> Volume:
        return Volume(EXTERNAL, "in-use" if self.attached else "available", self.attached)

    def attached_to(self, instance_id: str) -> list[str]:
        return ["vol-root", *(EXTERNAL for one in self.attached if one.instance_id == instance_id)]

    def instance_states(self, instance_ids: list[str]) -> dict[str, str]:
        return dict.fromkeys(instance_ids, "running")

    def _drain(self, asked: Asked) -> None:
        self.nomad.change(FIRST, DrainStrategy=None)
        for alloc_id, one in self._placed().items():
            stays = one["Job"]["Type"] == "system" and asked.body["DrainSpec"]["IgnoreSystemJobs"]
            if one["NodeID"] == "aaaa0001" and not stays:
                self.end(alloc_id)

    def _placed(self) -> dict[str, Json]:
        known = self.nomad.records.items()
        return {path.removeprefix("allocation/"): one for path, one in known if path.startswith("allocation/")}

    def _step(self) -> None:
        if self.after:
            self.after.pop(0)()

    def _allocations(self) -> list[Json]:
        self._step()
        return [one for one in self._placed().values() if one["JobID"] == "mysql"]

    def _volume(self) -> Json:
        self._step()
        return {
            "ID": VOLUME,
            "ExternalID": EXTERNAL,
            "PluginID": PLUGIN,
            "AccessMode": "single-node-writer",
            "Topologies": [{"Segments": {KEY: "z-a"}}],
            "WriteAllocs": dict.fromkeys(self.claimed_by),
            "Allocations": [one for alloc_id, one in self._placed().items() if alloc_id in self.claimed_by],
        }

    def _plugin(self) -> Json:
        known: Json = {
            f"aaaa000{number}": {
                "Healthy": number not in self.unhealthy_nodes,
                "NodeInfo": {"AccessibleTopology": {"Segments": {KEY: zone}}},
            }
            for number, zone in ZONES.items()
        }
        info = {"SupportsAttachDetach": True}
        controller = {"Healthy": self.controllers_healthy, "AllocID": "controller-1", "ControllerInfo": info}
        return {"ID": PLUGIN, "ControllerRequired": True, "Controllers": {"aaaa0001": controller}, "Nodes": known}
