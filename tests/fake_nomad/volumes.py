"""CSI volumes of a FakeNomad: registered, created, changed as far as Nomad changes them, and taken away."""

from __future__ import annotations

from typing import Any

from tests.fake_nomad.answers import Answer, Asked, Records, record_key, refused, several

_SUFFIXES = ("/create", "/delete")


def shown(volume: dict[str, Any]) -> dict[str, Any]:
    """A volume as the API shows it: without its secrets and mount flags."""
    mount = volume.get("MountOptions")
    flags = (mount or {}).get("MountFlags")
    hidden = None if mount is None else {"FSType": mount.get("FSType") or "", "MountFlags": flags and ["[REDACTED]"]}
    return volume | {"Secrets": None, "MountOptions": hidden}


def write(records: Records, asked: Asked) -> Answer:
    """Registers, creates, deregisters or deletes a volume."""
    path = asked.path
    for suffix in _SUFFIXES:
        path = path.removesuffix(suffix)
    if asked.method == "DELETE":
        gone = records.pop(asked.key(path), None)
        return refused(f"volume not found: {path.rpartition('/')[2]}") if gone is None else (200, "")
    given: dict[str, Any] = asked.body["Volumes"][0]
    namespace = given.get("Namespace") or asked.namespace
    plugin = records.get(f"plugin/csi/{given['PluginID']}")
    creates = asked.path.endswith("/create")
    if not given.get("RequestedCapabilities"):
        return refused("validation: must include at least one capability block")
    if plugin is None:
        return refused(f"no CSI plugin named: {given['PluginID']} could be found")
    if f"namespace/{namespace}" not in records:
        return refused(f"volume {given['ID']} is in nonexistent namespace {namespace}")
    if creates and not plugin.get("Controllers"):
        return refused("plugin has no controller")
    key = record_key(f"volume/csi/{given['ID']}", namespace)
    before = records.get(key)
    reason = before and _incompatible(before, given)
    if before and reason:
        return refused(f"unable to update volume: {several(reason)}\n")
    records[key] = _merged(before or _made(given, namespace, creates), given) | _health(plugin)
    return 200, {"Volumes": [shown(records[key])]}


def _made(given: dict[str, Any], namespace: str, creates: bool) -> dict[str, Any]:
    """What Nomad and the plugin add to a new volume."""
    added = {"ExternalID": f"storage-{given['ID']}", "Capacity": given.get("RequestedCapacityMin") or 0}
    fixed = {"Namespace": namespace, "Topologies": (given.get("RequestedTopologies") or {}).get("Required")}
    return {"Capacity": 0, "Allocations": []} | given | (added if creates else {}) | fixed


def _merged(volume: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """What a second registration changes; what it leaves out, but for the mount options, stays."""
    optional = ("Secrets", "Context", "Parameters", "RequestedCapabilities")
    taken = {name: given[name] for name in optional if given.get(name)}
    return volume | taken | {"MountOptions": given.get("MountOptions")}


def _incompatible(volume: dict[str, Any], given: dict[str, Any]) -> str:
    """Why Nomad does not make the one volume of the other; empty where it does."""
    if given.get("Name") != volume.get("Name"):
        return "volume name cannot be updated"
    if given.get("ExternalID") and given["ExternalID"] != volume["ExternalID"]:
        return "volume external ID cannot be updated"
    if given.get("PluginID") != volume["PluginID"]:
        return "volume plugin ID cannot be updated"
    if given.get("RequestedTopologies") != volume.get("RequestedTopologies"):
        return "volume topology request update was not compatible with existing topology"
    return ""


def _health(plugin: dict[str, Any]) -> dict[str, Any]:
    controllers, nodes = plugin.get("Controllers") or {}, plugin.get("Nodes") or {}
    return {
        "ControllerRequired": bool(plugin.get("ControllerRequired")),
        "ControllersExpected": len(controllers),
        "ControllersHealthy": sum(bool(one["Healthy"]) for one in controllers.values()),
        "NodesExpected": len(nodes),
        "NodesHealthy": sum(bool(one["Healthy"]) for one in nodes.values()),
        "Schedulable": any(one["Healthy"] for one in nodes.values()),
        "Provider": plugin.get("Provider") or "",
        "ProviderVersion": plugin.get("Version") or "",
    }
