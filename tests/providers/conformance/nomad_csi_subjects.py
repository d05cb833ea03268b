"""The types and functions of this project's own plugin."""

from __future__ import annotations

from typing import Any

from nomad_stateful.plugin_server.values import Props
from tests.providers.conformance.subjects import FunctionSubject, TypeSubject
from tests.providers.conformance.worlds import World
from tests.providers.harness import Resource

ALLOCATION = {
    "ID": "8f3c2a1b-0000",
    "TaskGroup": "mysql",
    "JobVersion": 0,
    "ClientStatus": "running",
    "DesiredStatus": "run",
    "NodeName": "client-1",
    "CreateIndex": 7,
    "DeploymentStatus": {"Healthy": True},
    "TaskStates": {},
}


def _plugin_health(world: World) -> Props:
    controller: dict[str, Any] = {"Healthy": True, "RequiresControllerPlugin": True, "Provider": "p"}
    plugin = {"ID": "ebs", "Controllers": {"n1": controller}, "Nodes": {"n1": {"Healthy": True}}, "Provider": "p"}
    world.nomad.put("plugin/csi/ebs", plugin)
    world.nomad.put("node/n1", {"ID": "n1", "Attributes": {}})
    return {"pluginId": "ebs", "controllers": 0, "timeoutS": 2}


def _job_health(world: World) -> Props:
    world.nomad.put("job/mysql-server", {"ID": "mysql-server", "Namespace": "default", "Version": 0})
    world.nomad.put("job/mysql-server/allocations", [ALLOCATION])
    return {"jobId": "mysql-server", "group": "mysql", "timeoutS": 2, "awsConfig": "{}"}


def _gone(path: str) -> Any:
    def vanish(world: World, _made: Resource) -> None:
        del world.nomad.records[path]

    return vanish


def _release(world: World) -> Props:
    group = {"Volumes": {"data": {"Type": "csi", "Source": "mysql"}}}
    world.nomad.put("job/mysql-server", {"ID": "mysql-server", "Stop": False, "TaskGroups": [group]})
    return {"volumeId": "mysql", "backend": "none", "consumerJobId": "mysql-server", "awsConfig": "{}"}


_GROWTH: Props = {"volumeId": "mysql", "sizeGib": 1, "secrets": {"key": "hush"}}

TYPES = (
    TypeSubject(
        "nomad-csi:index:PluginHealth",
        _plugin_health,
        delete_leaves="the plugin is its jobs', which are deleted by themselves",
        required={"pluginId"},
        updates={"triggers": {"job": "2"}, "timeoutS": 60},
        replaces={"pluginId": "efs"},
        vanish=_gone("plugin/csi/ebs"),
        outlasts="registrations hang on its topology key; the next update waits until the plugin is back",
        import_id=lambda made: made.id,
        hidden={"controllers", "timeoutS"},
        invalid={"pluginId": "a b", "controllers": -1, "zones": "us-west-2a", "timeoutS": 0},
    ),
    TypeSubject(
        "nomad-csi:index:JobHealth",
        _job_health,
        delete_leaves="the job is deleted by itself",
        secrets={"awsConfig"},
        required={"group", "jobId"},
        updates={"triggers": {"job": "2"}, "timeoutS": 60, "ownerId": "8f3c2a1b", "serving": ["first"]},
        replaces={"jobId": "another", "group": "another", "namespace": "another"},
        vanish=_gone("job/mysql-server"),
        import_id=lambda made: made.id,
        hidden={"awsConfig", "timeoutS", "ownerId", "serving"},
        invalid={"jobId": "a\nb", "allocations": 0},
    ),
    TypeSubject(
        "nomad-csi:index:VolumeGuard",
        lambda _world: {"awsConfig": "{}", "volumeName": "mysql", "zone": "us-west-2a", "sizeGib": 1},
        delete_leaves="it is rules of a preview",
        secrets={"awsConfig"},
        required={"sizeGib", "volumeName", "zone"},
        updates={"sizeGib": 2, "protect": False},
        invalid={"sizeGib": 0, "zone": "", "volumeName": "a b"},
    ),
    TypeSubject(
        "nomad-csi:index:CsiVolumeGuard",
        lambda _world: {"volumeId": "mysql", "pluginId": "ebs", "capacity": "1GiB", "fsType": "ext4"},
        delete_leaves="it is rules of a preview",
        required={"pluginId", "volumeId"},
        updates={"capacity": "2GiB", "protect": False},
        invalid={"volumeId": "a b", "attachmentMode": "floppy", "pluginId": ""},
    ),
    TypeSubject(
        "nomad-csi:index:VolumeProtection",
        lambda _world: {
            "awsConfig": "{}",
            "volumeName": "mysql",
            "volumeId": "vol-0123456789abcdef0",
            "finalSnapshot": False,
            "secrets": {"key": "hush"},
        },
        delete_leaves="without a final snapshot there is nothing to take",
        required={"volumeId", "volumeName"},
        updates={"protect": True, "finalSnapshot": True, "timeoutS": 60},
        secrets={"awsConfig", "secrets"},
        replaces={"volumeId": "vol-0123456789abcdef1"},
        defended={"volumeId"},
        invalid={"volumeId": "", "timeoutS": 0, "growth": "never", "sizeGib": 0},
    ),
    TypeSubject(
        "nomad-csi:index:VolumeGrowth",
        lambda _world: dict(_GROWTH),
        delete_leaves="a file system does not shrink",
        required={"sizeGib", "volumeId"},
        updates={"sizeGib": 2, "registrationId": "r2"},
        replaces={"volumeId": "another", "namespace": "another"},
        secrets={"secrets"},
        invalid={"mode": "never", "sizeGib": 0},
    ),
    TypeSubject(
        "nomad-csi:index:VolumeRelease",
        _release,
        secrets={"awsConfig"},
        required={"volumeId"},
        updates={"timeoutS": 60},
        replaces=dict.fromkeys(("volumeId", "namespace", "externalId", "registrationId", "consumerJobId"), "another"),
        delete_first=True,
        delete_first_after_interruption=True,
        invalid={"backend": "floppy", "timeoutS": 0},
    ),
    TypeSubject(
        "nomad-csi:index:GeneratedSecret",
        lambda _world: {"length": 40},
        delete_leaves="it is in the state alone",
        required=frozenset(),
        updates={},
        replaces={"length": 41, "keepers": {"a": "b"}},
        secrets={"result"},
        invalid={"length": 4},
    ),
    TypeSubject(
        "nomad-csi:index:Ownership",
        lambda _world: {"kind": "job", "resourceId": "mysql-server", "stack": "organization/trial/dev"},
        required={"kind", "resourceId", "stack"},
        updates={"stack": "organization/trial/renamed"},
        replaces={"kind": "volume", "resourceId": "another", "namespace": "another"},
        vanish=_gone("var/nomad/jobs/nomad-stateful/jobs/mysql-server"),
        invalid={"kind": "plugin", "resourceId": "a b", "stack": "", "expects": ""},
    ),
    TypeSubject(
        "nomad-csi:index:ReplicationGroup",
        lambda _world: {"jobId": "mysql-server", "candidate": "mysql-server-1"},
        required={"jobId", "candidate"},
        updates={"candidate": "mysql-server-2"},
        replaces={"jobId": "another", "namespace": "another"},
        vanish=_gone("var/nomad/jobs/nomad-stateful/groups/mysql-server"),
        refresh_asks=False,
        outlasts="a lost variable is not a lost group; the next update writes it again",
        invalid={"jobId": "a b", "candidate": ""},
    ),
)


def _cluster(world: World) -> Props:
    world.nomad.put("nodes", [])
    world.nomad.put("agent/members", {"ServerRegion": "global", "Members": []})
    return {}


FUNCTIONS = (
    FunctionSubject("nomad-csi:index:getCluster", _cluster),
    FunctionSubject("nomad-csi:index:getJob", lambda _world: {"jobId": "mysql-server"}, required={"jobId"}),
    FunctionSubject("nomad-csi:index:getOwners", lambda _world: {"jobs": ["mysql-server"], "volumes": ["mysql"]}),
    FunctionSubject(
        "nomad-csi:index:getPlacement",
        lambda _world: {"jobspec": 'job "web" {}', "parts": [{"name": "any", "count": 1}]},
        required={"jobspec", "parts"},
    ),
    FunctionSubject(
        "nomad-csi:index:getService",
        lambda _world: {"jobId": "mysql-server", "group": "mysql", "portLabel": "mysql"},
        required={"jobId", "group", "portLabel"},
    ),
    FunctionSubject("nomad-csi:index:getVolumes", lambda _world: {"stack": "nomad-stateful/dev"}, required={"stack"}),
)
