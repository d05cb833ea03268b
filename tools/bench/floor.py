"""The floor: Nomad's and AWS's APIs called directly in the best order, everything at once, polled every 0.1 s."""

from __future__ import annotations

import json
import secrets
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from nomad_stateful.nomad.api import NomadApi, NomadError
from sandbox.standins.plugins.nomad.jobspec import JobSource, JobspecParser
from tools.bench.parts import MYSQL, PLUGIN, Job, Json, Parts, Volume
from tools.bench.rig import MYSQL_ZONE, Rig, wait_until

if TYPE_CHECKING:
    from mypy_boto3_ec2.type_defs import TagSpecificationTypeDef

T = TypeVar("T")
_TIMEOUT_S = 120.0
_ZONE_SEGMENT = "topology.ebs.csi.aws.com/zone"


class Floor:
    """No program, no plugin, no state: the jobs are parsed before the clock starts."""

    name = "floor"

    def __init__(self, rig: Rig, parts: Parts, nomad: str) -> None:
        self._rig = rig
        self._parts = parts
        self._parser = JobspecParser(nomad)
        self._controller = self._parsed(parts.controller)
        self._node = self._parsed(parts.node)
        self._mysql = self._parsed(parts.mysql)
        self._volumes: dict[str, str] = {}
        self._policy_arn = ""

    def up(self) -> None:
        """Waits for the server only as far as its job is submitted: the watch tells when it answers."""
        api, parts = self._rig.nomad, self._parts
        with ThreadPoolExecutor(8) as pool:
            jobs = [pool.submit(self._submit, job) for job in (self._node, self._controller)]
            items = {"Items": {"root_password": secrets.token_urlsafe(24)}}
            variable = pool.submit(api.put, f"var/nomad/jobs/{MYSQL}", items)
            self._make_cloud(pool)
            _all([*jobs, variable])
            wait_until("a controller is healthy", lambda: has_controller(_plugin(api)), _TIMEOUT_S)
            registered = {volume.name: pool.submit(self._register, volume) for volume in parts.volumes}
            wait_until(f"a node plugin of {MYSQL_ZONE} is healthy", lambda: has_node_in_zone(_plugin(api)), _TIMEOUT_S)
            registered["mysql"].result()
            self._submit(self._mysql)
            _all(list(registered.values()))

    def destroy(self) -> None:
        """Each thing the moment what stands on it is gone."""
        api = self._rig.nomad
        with ThreadPoolExecutor(8) as pool:
            api.delete(f"job/{MYSQL}", purge=True)
            variable = pool.submit(api.delete, f"var/nomad/jobs/{MYSQL}")
            released = [pool.submit(self._release, name) for name in self._volumes]
            _all(released)
            jobs = [pool.submit(api.delete, f"job/{job['ID']}", purge=True) for job in (self._node, self._controller)]
            self._delete_cloud()
            _all([variable, *jobs])

    def forget(self) -> None:
        """Nothing is remembered."""

    def _parsed(self, job: Job) -> Json:
        return self._parser.parse(JobSource(text=job.jobspec, variables=tuple(sorted(job.variables.items()))))

    def _submit(self, job: Json) -> None:
        self._rig.nomad.put("jobs", {"Job": job})

    def _make_cloud(self, pool: ThreadPoolExecutor) -> None:
        """Policy and volumes, all at once."""
        policy = pool.submit(self._attach_policy)
        made = {volume.name: pool.submit(self._make, volume) for volume in self._parts.volumes}
        self._volumes = {name: future.result() for name, future in made.items()}
        policy.result()

    def _delete_cloud(self) -> None:
        with ThreadPoolExecutor(4) as pool:
            ids = self._volumes.values()
            deleted = [pool.submit(self._rig.ec2.delete_volume, VolumeId=volume) for volume in ids]
            self._rig.delete_policy(self._policy_arn)
            _all(deleted)

    def _attach_policy(self) -> None:
        iam = self._rig.iam
        made = iam.create_policy(PolicyName=f"floor-{secrets.token_hex(4)}", PolicyDocument=self._parts.policy)
        self._policy_arn = made["Policy"]["Arn"]
        iam.attach_role_policy(RoleName=self._parts.role, PolicyArn=self._policy_arn)

    def _make(self, volume: Volume) -> str:
        tags: TagSpecificationTypeDef = {
            "ResourceType": "volume",
            "Tags": [{"Key": key, "Value": value} for key, value in volume.tags.items()],
        }
        made = self._rig.ec2.create_volume(
            AvailabilityZone=volume.zone,
            Size=volume.size_gib,
            VolumeType=volume.type,  # type: ignore[arg-type]
            Encrypted=volume.encrypted,
            TagSpecifications=[tags],
        )
        wait_until("the volume is made", lambda: self._rig.is_available(made["VolumeId"]), _TIMEOUT_S)
        return made["VolumeId"]

    def _register(self, volume: Volume) -> None:
        body = registration(volume, self._volumes[volume.name])
        self._rig.nomad.put(f"volume/csi/{volume.name}", {"Volumes": [body]})

    def _release(self, name: str) -> None:
        """Deregisters a volume once nobody claims it and it is attached nowhere."""
        volume = self._volumes[name]
        wait_until(f"the claim on {name} is released", lambda: not self._rig.claimed(name), _TIMEOUT_S)
        wait_until(f"{name} is detached", lambda: self._rig.is_available(volume), _TIMEOUT_S)
        self._rig.nomad.delete(f"volume/csi/{name}", force=True)


def registration(volume: Volume, external_id: str) -> Json:
    """A volume as Nomad's API takes it."""
    inputs: Json = json.loads(json.dumps(volume.registration))
    options = inputs.get("mountOptions") or {}
    required = ((inputs.get("topologyRequest") or {}).get("required") or {}).get("topologies") or []
    return {
        "ID": volume.name,
        "Name": inputs["name"],
        "Namespace": inputs["namespace"],
        "PluginID": inputs["pluginId"],
        "ExternalID": external_id,
        "RequestedCapabilities": [
            {"AccessMode": mode["accessMode"], "AttachmentMode": mode["attachmentMode"]}
            for mode in inputs["capabilities"]
        ],
        "MountOptions": {"FSType": options.get("fsType", ""), "MountFlags": options.get("mountFlags") or []},
        "RequestedTopologies": {"Required": [{"Segments": item["segments"]} for item in required]},
    }


def _plugin(nomad: NomadApi) -> Json:
    """The driver as Nomad's server has it; empty while there is none."""
    try:
        return dict(nomad.get(f"plugin/csi/{PLUGIN}"))
    except NomadError:
        return {}


def has_controller(plugin: Json) -> bool:
    """Whether a controller is healthy."""
    return bool(plugin.get("ControllersHealthy"))


def has_node_in_zone(plugin: Json) -> bool:
    """Whether a node plugin in MySQL's zone is healthy."""
    topologies = [
        ((node.get("NodeInfo") or {}).get("AccessibleTopology") or {}).get("Segments") or {}
        for node in (plugin.get("Nodes") or {}).values()
        if node.get("Healthy")
    ]
    return any(segments.get(_ZONE_SEGMENT) == MYSQL_ZONE for segments in topologies)


def _all(futures: list[Future[T]]) -> None:
    for future in futures:
        future.result()
