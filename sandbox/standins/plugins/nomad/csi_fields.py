"""What a CSI volume's inputs mean: validation, the body Nomad takes, and the outputs its record gives."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import Any

from nomad_stateful.plugin_server.plugin import CheckFailure, Kind, Props, property_diff
from nomad_stateful.plugin_server.values import UNKNOWN, contains_unknown
from sandbox.standins.plugins.nomad.capacity import format_bytes, parse_bytes
from sandbox.standins.plugins.nomad.inputs import Field, plain

ACCESS_MODES = (
    "single-node-reader-only",
    "single-node-writer",
    "multi-node-reader-only",
    "multi-node-single-writer",
    "multi-node-multi-writer",
)
ATTACHMENT_MODES = ("block-device", "file-system")
COMPUTED = frozenset(
    {
        *("capacity", "capacityMinBytes", "capacityMaxBytes", "controllerRequired", "controllersExpected"),
        *("controllersHealthy", "nodesExpected", "nodesHealthy", "pluginProvider", "pluginProviderVersion"),
        *("schedulable", "topologies"),
    }
)
COMMON_FIELDS: dict[str, Field] = {
    "volumeId": Field("string", required=True),
    "pluginId": Field("string", required=True),
    "name": Field("string"),
    "namespace": Field("string", default="default"),
    "capabilities": Field("list", required=True),
    "mountOptions": Field("object"),
    "secrets": Field("map"),
    "parameters": Field("map"),
    "capacityMin": Field("string"),
    "topologyRequest": Field("object"),
}
_MOUNT_OPTIONS = {"fsType", "mountFlags"}


def volume_failures(inputs: Props) -> list[CheckFailure]:
    """What is wrong with the inputs of a volume; unknown parts are taken for right."""
    return [
        *_capability_failures(inputs.get("capabilities")),
        *_capacity_failures(inputs),
        *_mount_failures(inputs.get("mountOptions")),
        *_topology_failures(inputs.get("topologyRequest")),
    ]


def volume_body(inputs: Props) -> Props:
    """The volume in the form of Nomad's API, without the parts that only one kind of volume has."""
    capabilities = [
        {"AccessMode": item["accessMode"], "AttachmentMode": item["attachmentMode"]}
        for item in _ordered(inputs.get("capabilities") or [])
    ]
    body: Props = {
        "ID": inputs["volumeId"],
        "Name": inputs.get("name") or inputs["volumeId"],
        "PluginID": inputs["pluginId"],
        "RequestedCapacityMin": least_bytes(inputs),
        "RequestedCapacityMax": 0,
        "RequestedCapabilities": capabilities,
        "RequestedTopologies": _topology_body(inputs.get("topologyRequest")),
        "Secrets": plain(inputs.get("secrets")),
        "Parameters": plain(inputs.get("parameters")),
    }
    mount = inputs.get("mountOptions")
    if mount:
        body["MountOptions"] = {"FSType": mount.get("fsType") or "", "MountFlags": mount.get("mountFlags") or []}
    return body


def volume_outputs(volume: dict[str, Any], known: Props) -> Props:
    """Outputs from Nomad's record; what its API hides (mount options, secrets) stays as it is known."""
    outputs: Props = {
        "name": volume.get("Name") or "",
        "namespace": volume.get("Namespace") or "default",
        "volumeId": volume.get("ID") or "",
        "externalId": volume.get("ExternalID") or "",
        "pluginId": volume.get("PluginID") or "",
        "capacity": volume.get("Capacity") or 0,
        "capacityMinBytes": volume.get("RequestedCapacityMin") or 0,
        "capacityMaxBytes": volume.get("RequestedCapacityMax") or 0,
        "controllerRequired": bool(volume.get("ControllerRequired")),
        "controllersExpected": volume.get("ControllersExpected") or 0,
        "controllersHealthy": volume.get("ControllersHealthy") or 0,
        "nodesExpected": volume.get("NodesExpected") or 0,
        "nodesHealthy": volume.get("NodesHealthy") or 0,
        "pluginProvider": volume.get("Provider") or "",
        "pluginProviderVersion": volume.get("ProviderVersion") or "",
        "schedulable": bool(volume.get("Schedulable")),
        "topologies": _topology_outputs(volume.get("Topologies")),
        "capabilities": _capability_outputs(volume.get("RequestedCapabilities")),
    }
    if known.get("capacityMin"):
        outputs["capacityMin"] = format_bytes(outputs["capacityMinBytes"])
    requested = _topology_request_outputs(volume.get("RequestedTopologies"))
    outputs["topologyRequest"] = requested
    merged = plain(known) | outputs
    return {key: value for key, value in merged.items() if value is not None}


def volume_changes(old: Props, new: Props, names: Iterable[str]) -> dict[str, Kind]:
    """Differing inputs by path; sizes are compared by value, capabilities as a set."""
    changes: dict[str, Kind] = {}
    for name in names:
        before, after = plain(old.get(name)), plain(new.get(name))
        if name == "capacityMin" and _same_capacity(before, after):
            continue
        if name == "capabilities" and not contains_unknown(after):
            before, after = _ordered(before or []), _ordered(after or [])
        if name == "mountOptions":
            before, after = _without_unset(before), _without_unset(after)
        if _is_unset(before) and _is_unset(after):
            continue
        changes |= property_diff(before, after, name)
    return changes


def least_bytes(inputs: Props) -> int:
    """The least capacity in bytes; 0 when none is given."""
    return parse_bytes(inputs["capacityMin"]) if inputs.get("capacityMin") else 0


def _is_unset(value: Any) -> bool:
    return value is None or (value is not UNKNOWN and value in ("", {}, [], False))


def _without_unset(value: Any) -> Any:
    """An object without what is not set: a state of the official plugin has an empty list there."""
    return {key: item for key, item in value.items() if not _is_unset(item)} if isinstance(value, dict) else value


def _same_capacity(old: Any, new: Any) -> bool:
    if contains_unknown([old, new]) or not old or not new:
        return False
    return parse_bytes(old) == parse_bytes(new) or format_bytes(parse_bytes(old)) == format_bytes(parse_bytes(new))


def _ordered(capabilities: list[Props]) -> list[Props]:
    """The order of the official plugin's set: the first one is the volume's legacy mode."""

    def place(item: Props) -> str:
        text = f"{item.get('accessMode')}-{item.get('attachmentMode')}-"
        return str(zlib.crc32(text.encode()))

    return sorted(capabilities, key=place)


def _capability_failures(capabilities: Any) -> list[CheckFailure]:
    if capabilities is None or capabilities is UNKNOWN or not isinstance(capabilities, list):
        return []
    if not capabilities:
        return [CheckFailure("capabilities", "capabilities is empty: give at least one access and attachment mode")]
    failures = []
    for index, item in enumerate(capabilities):
        for key, allowed in (("accessMode", ACCESS_MODES), ("attachmentMode", ATTACHMENT_MODES)):
            value = item.get(key) if isinstance(item, dict) else None
            if item is not UNKNOWN and value is not UNKNOWN and value not in allowed:
                path = f"capabilities[{index}].{key}"
                reason = f"{path} is {value!r}: use one of {', '.join(allowed)}"
                failures.append(CheckFailure(path, reason))
    return failures


def _capacity_failures(inputs: Props) -> list[CheckFailure]:
    value = inputs.get("capacityMin")
    if isinstance(value, str) and value:
        try:
            parse_bytes(value)
        except ValueError as error:
            return [CheckFailure("capacityMin", f"invalid capacity: {error}")]
    return []


def _mount_failures(mount: Any) -> list[CheckFailure]:
    if not isinstance(mount, dict):
        return []
    if not plain(mount):
        # The official plugin says so at creation only.
        reason = (
            "failed to unpack mount_options configuration block: it is empty. Set fsType or mountFlags, or leave it out"
        )
        return [CheckFailure("mountOptions", reason)]
    unknown_keys = sorted(set(plain(mount)) - _MOUNT_OPTIONS)
    return [CheckFailure("", f"mountOptions.{key} is not an input: use fsType and mountFlags") for key in unknown_keys]


def _topology_failures(request: Any) -> list[CheckFailure]:
    if not isinstance(request, dict):
        return []
    failures = []
    for kind, value in plain(request).items():
        if kind != "required":
            failures.append(CheckFailure("", f"topologyRequest.{kind} is not supported here: use required"))
            continue
        topologies = value.get("topologies") if isinstance(value, dict) else None
        if contains_unknown(value) or (topologies and all(item.get("segments") for item in topologies)):
            continue
        reason = f"topologyRequest.{kind} needs topologies, each with segments"
        failures.append(CheckFailure(f"topologyRequest.{kind}", reason))
    return failures


def _topology_body(request: Props | None) -> Props | None:
    required = (request or {}).get("required")
    if not required:
        return None
    return {"Required": [{"Segments": plain(item.get("segments") or {})} for item in required.get("topologies") or []]}


def _topology_outputs(topologies: list[dict[str, Any]] | None) -> list[Props]:
    return [{"segments": item.get("Segments") or {}} for item in topologies or [] if item]


def _topology_request_outputs(request: dict[str, Any] | None) -> Props | None:
    outputs = {
        name: {"topologies": _topology_outputs((request or {}).get(api_name))}
        for name, api_name in (("required", "Required"), ("preferred", "Preferred"))
        if (request or {}).get(api_name)
    }
    return outputs or None


def _capability_outputs(found: list[dict[str, Any]] | None) -> list[Props] | None:
    capabilities = [{"accessMode": c["AccessMode"], "attachmentMode": c["AttachmentMode"]} for c in found or []]
    return sorted(capabilities, key=lambda one: (one["accessMode"], one["attachmentMode"])) or None
