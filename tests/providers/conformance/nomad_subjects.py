"""The types and functions of the nomad plugin."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from nomad_stateful.plugin_server.values import Props
from tests.providers.conformance.subjects import FunctionSubject, TypeSubject
from tests.providers.conformance.worlds import World
from tests.providers.harness import Resource

WRITER = {"accessMode": "single-node-writer", "attachmentMode": "file-system"}
READER = {"accessMode": "single-node-reader-only", "attachmentMode": "file-system"}


def jobspec(job_id: str, count: int = 1, namespace: str = "default") -> str:
    """A job in JSON, which is read without a Nomad."""
    task = {"Name": "main", "Driver": "raw_exec", "Config": {"command": "true"}}
    group = {"Name": "main", "Count": count, "Tasks": [task]}
    job = {"ID": job_id, "Name": job_id, "Namespace": namespace, "Datacenters": ["*"], "TaskGroups": [group]}
    return json.dumps({"Job": job})


def topology(*zones: str) -> Props:
    """A topology request that wants one of some zones."""
    return {"required": {"topologies": [{"segments": {"zone": zone}} for zone in zones]}}


_JOB_FLAGS = {
    *("deregisterOnDestroy", "deregisterOnIdChange", "detach", "json"),
    *("preserveCounts", "readAllocationIds", "rerunIfDead"),
}


def _forget(*prefixes: str) -> Callable[[World, Resource], None]:
    def vanish(world: World, _made: Resource) -> None:
        for path in [one for one in world.nomad.records if one.startswith(prefixes)]:
            del world.nomad.records[path]

    return vanish


def _at_default(made: Resource) -> str:
    return f"{made.id}@default"


_HEALTHY = {"Healthy": True}
_DRIVER = {"ID": "driver", "ControllerRequired": True, "Provider": "driver.example.test", "Version": "1"} | {
    "Controllers": {"n1": _HEALTHY},
    "Nodes": {"n1": _HEALTHY},
}


def _volume(**more: Any) -> Callable[[World], Props]:
    def prepare(world: World) -> Props:
        world.nomad.put("plugin/csi/driver", _DRIVER)
        return _VOLUME | more

    return prepare


_VOLUME: Props = {
    "volumeId": "v",
    "name": "v",
    "pluginId": "driver",
    "capabilities": [WRITER],
    "secrets": {"key": "hush"},
    "mountOptions": {"fsType": "ext4"},
    "topologyRequest": topology("a"),
}
_VOLUME_UPDATES: dict[str, Any] = {
    "secrets": {"key": "hush-hush"},
    "mountOptions": {"fsType": "xfs"},
    "capacityMin": "2.0 GiB",
}
_VOLUME_REPLACES: dict[str, Any] = {
    "volumeId": "another",
    "pluginId": "another",
    "namespace": "another",
    "topologyRequest": topology("a", "b"),
}
_VOLUME_INVALID: dict[str, Any] = {
    "capabilities": [],
    "capacityMin": "ten",
    "secrets": {"key": 5},
    "topologyRequest": {"required": {"topologies": []}},
}

TYPES = (
    TypeSubject(
        "nomad:index/job:Job",
        lambda _world: {"jobspec": jobspec("j"), "json": True},
        required={"jobspec"},
        updates={
            "jobspec": jobspec("j", count=2),
            "detach": False,
            "purgeOnDestroy": True,
            "deregisterOnDestroy": False,
            "rerunIfDead": True,
        },
        replaces={"jobspec": jobspec("another")},
        vanish=_forget("job/"),
        import_id=_at_default,
        delete_stops=True,
        must_be_known={"json": "error parsing jobspec"},
        hidden=_JOB_FLAGS,
        invalid={"jobspec": "{", "hcl2": {"vars": {"a": 5}}},
    ),
    TypeSubject(
        "nomad:index/csiVolumeRegistration:CsiVolumeRegistration",
        _volume(externalId="vol-1", context={"a": "b"}),
        required={"volumeId", "pluginId", "externalId", "capabilities"},
        stricter={"capabilities"},
        updates=_VOLUME_UPDATES | {"capabilities": [READER, WRITER], "deregisterOnDestroy": False},
        replaces=_VOLUME_REPLACES | {"externalId": "vol-2"},
        delete_first_if_named=True,
        autonamed=True,
        secrets={"secrets"},
        vanish=_forget("volume/"),
        gone_fails="volume not found",
        import_id=_at_default,
        hidden={"secrets", "mountOptions", "deregisterOnDestroy"},
        left_out={"capacityMax"},
        invalid=_VOLUME_INVALID,
    ),
    TypeSubject(
        "nomad:index/csiVolume:CsiVolume",
        _volume(),
        required={"volumeId", "pluginId", "capabilities"},
        updates=_VOLUME_UPDATES | {"capabilities": [READER]},
        replaces=_VOLUME_REPLACES | {"capabilities": [WRITER, READER], "snapshotId": "s"},
        delete_first_if_named=True,
        autonamed=True,
        secrets={"secrets"},
        vanish=_forget("volume/"),
        gone_fails="volume not found",
        import_id=_at_default,
        hidden={"secrets", "mountOptions"},
        left_out={"capacityMax", "cloneId"},
        invalid=_VOLUME_INVALID,
    ),
    TypeSubject(
        "nomad:index/variable:Variable",
        lambda _world: {"path": "nomad/jobs/j", "items": {"password": "hush"}},
        required={"path"},
        left_out={"itemsWo", "itemsWoVersion"},
        updates={"items": {"password": "hush-hush"}},
        replaces={"path": "another", "namespace": "another"},
        secrets={"items"},
        vanish=_forget("var/"),
        import_fails="missing variable path",
        invalid={"path": "nomad", "items": {}},
    ),
)


def _with(path: str, record: Any, args: Props) -> Callable[[World], Props]:
    def prepare(world: World) -> Props:
        world.nomad.put(path, record)
        return args

    return prepare


FUNCTIONS = (
    FunctionSubject(
        "nomad:index/getPlugin:getPlugin",
        _with("plugin/csi/driver", _DRIVER, {"pluginId": "driver"}),
        required={"pluginId"},
    ),
    FunctionSubject("nomad:index/getPlugins:getPlugins", _with("plugins", [], {})),
)
