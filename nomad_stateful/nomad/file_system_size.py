"""Sizes of mounted file systems, as their Nomad clients measure them, and their growth through Nomad."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nomad_stateful.nomad.api import NomadApi, NomadApiError, NomadError
from nomad_stateful.nomad.paths import plugin_path, volume_path
from nomad_stateful.nomad.volume_claims import Claim
from nomad_stateful.waiting import Context, Pending, Progress

_GIB = 1 << 30
# Where a client mounts a CSI volume for an allocation.
_MOUNTED_FOR = "/per-alloc/{}/"
# A client measures once a second, unless its telemetry.collection_interval says otherwise.
_LOOK_EVERY_S = 0.5
MEASURED_WITHIN_S = 5.0
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


def of(api: NomadApi, claims: Sequence[Claim]) -> int:
    """Returns the bytes of the volume's file system, by the first claim whose client knows; 0 where none does."""
    return use(api, claims)[0]


def use(api: NomadApi, claims: Sequence[Claim]) -> tuple[int, int]:
    """Returns the bytes of the volume's file system and those in use; zeros where no claim's client knows."""
    for claim in claims:
        if not claim.node_id:
            continue
        try:
            disks = api.get("client/stats", node_id=claim.node_id).get("DiskStats") or []
        except NomadError:
            continue
        for disk in disks:
            if _MOUNTED_FOR.format(claim.alloc_id) in disk.get("Mountpoint", ""):
                return int(disk["Size"]), int(disk.get("Used") or 0)
    return 0, 0


def after_growth(progress: Progress, api: NomadApi, claims: Sequence[Claim], before: int) -> int:
    """Returns the bytes once a client has measured a growth; `before` where none was measured."""

    def look() -> int | Pending:
        size = of(api, claims)
        return size if not before or size != before else Pending("waiting until a client measures the file system")

    size = progress.wait(look, _LOOK_EVERY_S)
    return before if isinstance(size, Pending) else size


def change(before: int, after: int) -> str:
    """Returns both sizes for a message; "" where they were not measured, or are the same."""
    grew = before and after and before != after
    return f" ({before / _GIB:.2f} GiB -> {after / _GIB:.2f} GiB)" if grew else ""


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
