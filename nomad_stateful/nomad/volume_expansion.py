"""Expansion of a mounted volume through Nomad, and what refused it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nomad_stateful.nomad.api import NomadApi, NomadApiError
from nomad_stateful.nomad.paths import plugin_path, volume_path
from nomad_stateful.waiting import Context

_GIB = 1 << 30
_NODE_CALL = "NodeExpandVolume"
# What a registration repeats unchanged; context and parameters keep their values when they are left out.
_CARRIED = (
    "ID",
    "Name",
    "Namespace",
    "ExternalID",
    "PluginID",
    "AccessMode",
    "AttachmentMode",
    "RequestedCapabilities",
    "RequestedTopologies",
)


@dataclass(frozen=True)
class Refusal:
    """Why a mounted file system did not grow."""

    reason: str
    """The driver's own words, on one line."""
    by_node: bool
    """Whether the volume has grown, and the client it is mounted on refused to grow the file system."""


def nodes_can_expand(api: NomadApi, plugin_id: str) -> bool:
    """Returns whether the plugin's nodes can grow a mounted file system. Raises NomadError."""
    plugin = api.find(plugin_path(plugin_id)) or {}
    nodes = (plugin.get("Nodes") or {}).values()
    return any(((node or {}).get("NodeInfo") or {}).get("SupportsExpand") for node in nodes)


def expand(ctx: Context, api: NomadApi, inputs: Mapping[str, Any], volume: Mapping[str, Any]) -> Refusal | None:
    """Asks Nomad to expand the mounted volume; returns None on success. Raises NomadError.

    Idempotent: Nomad compares the sizes, and so does the driver.
    """
    # Nomad never returns mount flags and secrets, but replaces them by those given here.
    options = {**(volume.get("MountOptions") or {}), "MountFlags": inputs["mountFlags"] or []}
    registration = {key: volume.get(key) for key in _CARRIED} | {
        "MountOptions": options,
        "Secrets": inputs["secrets"] or {},
        "RequestedCapacityMin": inputs["sizeGib"] * _GIB,
    }
    if volume.get("RequestedCapacityMin") == registration["RequestedCapacityMin"]:
        return None
    path, body = volume_path(inputs["volumeId"]), {"Volumes": [registration]}
    limit_s = ctx.timeout_s or inputs["timeoutS"]
    ctx.log("info", f"asking Nomad to grow volume {inputs['volumeId']} where it is mounted", ephemeral=True)
    try:
        ctx.call(lambda: api.put(path, body, timeout_s=limit_s, namespace=inputs["namespace"]))
    except NomadApiError as error:
        if error.status != 500 or "expand" not in error.body.lower():
            raise
        return Refusal(_reason(error.body), by_node=_NODE_CALL in error.body)
    return None


def _reason(body: str) -> str:
    return " ".join(body.rsplit("desc = ", maxsplit=1)[-1].split())
