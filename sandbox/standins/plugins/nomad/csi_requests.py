"""The requests that CSI volumes of both kinds make, retried while a plugin or a claim is in the way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from nomad_stateful.errors import ProviderError
from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.plugin_server.plugin import Props
from nomad_stateful.waiting import Context
from sandbox.standins.plugins.nomad.config import told, unless_gone
from sandbox.standins.plugins.nomad.waits import Progress, retry

DEFAULT_TIMEOUT_S = 600.0
_RESERVE_S = 60.0  # the official plugin stops retrying a minute before its timeout
# Errors that no waiting cures
_FINAL = (
    "already exist",
    "requested capacity",
    "LimitBytes cannot be less than",
    "cannot be updated",
    "update was not compatible with existing",
    "Unexpected response code: 403",
    "Unexpected response code: 400",
)
_CLAIMS_SHOWN = 3


@dataclass(frozen=True)
class VolumeKey:
    """What names a volume."""

    id: str
    namespace: str


def budget_s(ctx: Context) -> float:
    """How long to retry: the operation's timeout less a minute."""
    return max(0.0, (ctx.timeout_s or DEFAULT_TIMEOUT_S) - _RESERVE_S)


def volume_path(volume_id: str) -> str:
    """The API path of a volume."""
    return f"volume/csi/{quote(volume_id, safe='')}"


def find_volume(api: NomadApi, volume_id: str, namespace: str) -> dict[str, Any] | None:
    """Nomad's record of the volume, None when there is none."""
    found: dict[str, Any] | None = unless_gone(
        "error checking for CSI volume", lambda: api.get(volume_path(volume_id), namespace=namespace)
    )
    return found


def put_volume(ctx: Context, api: NomadApi, path: str, body: Props, namespace: str) -> None:
    """Registers or creates the volume; retried, since its plugin may not be there or healthy yet."""
    what = f"volume {body['ID']} to be accepted by plugin {body['PluginID']}"

    def attempt() -> None:
        with told("error creating CSI volume"):
            api.put(path, {"Volumes": [body | {"Namespace": namespace}]}, namespace=namespace)

    retry(ctx, attempt, Progress(ctx, what, budget_s(ctx)), is_final, lambda: "")


def remove_volume(ctx: Context, api: NomadApi, volume: VolumeKey, verb: str, call: Callable[[], Any]) -> None:
    """Deregisters or deletes the volume; retried while allocations claim it, and, as the official plugin does, while
    there is none: a refresh takes one that is gone out of the state.
    """

    def attempt() -> None:
        with told(f"error {verb} CSI volume"):
            call()

    what = f"volume {volume.id} to be released by the allocations that claim it"
    progress = Progress(ctx, what, budget_s(ctx))
    retry(ctx, attempt, progress, lambda message: "response code: 403" in message, lambda: hindrance(api, volume))


def hindrance(api: NomadApi, volume: VolumeKey) -> str:
    """What is in the way of a removal, as an addition to a message: claims, or that there is no such volume."""
    try:
        if find_volume(api, volume.id, volume.namespace) is None:
            return "; it is gone: `pulumi refresh` takes it out of the state"
    except ProviderError:
        return ""
    return claims(api, volume)


def claims(api: NomadApi, volume: VolumeKey) -> str:
    """Which allocations hold the volume, as an addition to a message; empty when none or not known."""
    try:
        found = find_volume(api, volume.id, volume.namespace) or {}
    except ProviderError:
        return ""
    held = [item for item in found.get("Allocations") or [] if item]
    named = [
        f"{item.get('ID', '')[:8]} of job {item.get('JobID')} on {item.get('NodeName')} ({item.get('ClientStatus')})"
        for item in held[:_CLAIMS_SHOWN]
    ]
    more = f" and {len(held) - _CLAIMS_SHOWN} more" if len(held) > _CLAIMS_SHOWN else ""
    return f"; claimed by {', '.join(named)}{more}; stop the job to release it" if named else ""


def is_final(message: str) -> bool:
    """Whether trying again cannot help."""
    return any(text in message for text in _FINAL)
