"""VolumeGrowth: after a volume has grown, has its file system grow too, mounted or by a restart of its consumer."""

# ruff: noqa: A002, ARG002 - the signatures are the interface

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from provider import file_system_size, validation, volume_claims
from provider.nomad_api import NomadApi, NomadApiError, NomadNotFound
from provider.rpc.plugin import (
    UNKNOWN,
    Checked,
    Context,
    Props,
    ProviderError,
    ReadResult,
    ResourceType,
)

ONLINE, RESTART, EITHER = "online", "restart", "online-or-restart"
MODES = (EITHER, ONLINE, RESTART)
_DEFAULTS: Props = {
    "namespace": "default",
    "registrationId": "",
    "mountFlags": [],
    "secrets": {},
    "mode": EITHER,
    "timeoutS": 180,
}
_INPUTS = frozenset(_DEFAULTS) | {"volumeId", "sizeGib"}
_GIB = 1 << 30
_LARGEST_GIB = 65536
# What a registration carries over unchanged; context and parameters stay as they are when they are left out.
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


class VolumeGrowth(ResourceType):
    """Stands between a volume's registration and its consumer, which restarts when `restartId` changes."""

    token = "nomad-csi:index:VolumeGrowth"  # noqa: S105 - a type's name
    computed = frozenset({"restartId"})
    secret_outputs = frozenset({"secrets"})
    replace_on = frozenset({"volumeId", "namespace"})

    def __init__(self, api: Callable[[], NomadApi]) -> None:
        self._api = api

    def check(self, ctx: Context, olds: Props, news: Props) -> Checked:
        inputs = _DEFAULTS | news
        failures = [
            *validation.unknown_keys(news, _INPUTS),
            *validation.volume_name(inputs, "volumeId"),
            *validation.name(inputs, "namespace", "default"),
            *validation.whole_number(inputs, "sizeGib", 1, _LARGEST_GIB, "It is in GiB"),
            *validation.one_of(inputs, "mode", MODES),
            *validation.whole_number(inputs, "timeoutS", 1, 86400, "It is in seconds; 180 is the default"),
        ]
        return Checked(inputs, failures)

    def create(self, ctx: Context, inputs: Props) -> tuple[str, Props]:
        """A volume that nobody has mounted yet grows when it is mounted; one that is in use may be behind."""
        growth_id = f"{inputs['namespace']}/{inputs['volumeId']}"
        return growth_id, inputs | {"restartId": self._grow(ctx, inputs, restart_id="", quiet=True)}

    def preview_update(self, ctx: Context, id: str, state: Props, inputs: Props) -> Props:
        may_restart = inputs["sizeGib"] != state["sizeGib"] and inputs["mode"] != ONLINE
        return inputs | {"restartId": UNKNOWN if may_restart else state["restartId"]}

    def update(self, ctx: Context, id: str, state: Props, old_inputs: Props, inputs: Props) -> Props:
        restart_id = state["restartId"]
        if inputs["sizeGib"] != state["sizeGib"]:
            restart_id = self._grow(ctx, inputs, restart_id)
        return inputs | {"restartId": restart_id}

    def read(self, ctx: Context, id: str, inputs: Props, state: Props) -> ReadResult | None:
        if not state:
            raise ProviderError("a VolumeGrowth cannot be imported: it is nothing outside the stack. Create a new one")
        return ReadResult(id, inputs, state)

    def delete(self, ctx: Context, id: str, state: Props) -> None:
        """Nothing to undo: a volume does not shrink."""

    def _grow(self, ctx: Context, inputs: Props, restart_id: str, *, quiet: bool = False) -> str:
        """Grows a mounted file system; the id of the restart that this takes, the given one where it takes none."""
        api = self._api()
        volume = _volume(api, inputs)
        held = volume_claims.claims(volume)
        what = f"volume {inputs['volumeId']} has {inputs['sizeGib']} GiB"
        if volume is None or not held:
            if not quiet:
                ctx.log("info", f"{what}; nobody has it mounted: its file system grows when it is mounted next")
            return restart_id
        if inputs["mode"] == RESTART:
            ctx.log(
                "info", f"{what}; its consumer is restarted, and the driver grows the file system while mounting it"
            )
            return secrets.token_hex(4)
        before = file_system_size.of(api, held)
        refusal = _expand(ctx, api, inputs, volume)
        if not refusal:
            sizes = file_system_size.change(before, file_system_size.of(api, held))
            ctx.log("info", f"{what}; its file system grew while it was mounted{sizes}: nothing is restarted")
            return restart_id
        if inputs["mode"] == ONLINE:
            raise ProviderError(
                f"{what}, but its file system could not grow while it is mounted: {refusal}\nSet growth: {EITHER} (or "
                f"{RESTART}) on volumes.{inputs['volumeId']} and run the same command again: its consumer is then "
                "restarted, and the driver grows the file system while mounting it"
            )
        ctx.log(
            "info",
            f"{what}; its file system does not grow while it is mounted ({refusal}), so its consumer is restarted and "
            "the driver grows it while mounting it",
        )
        return secrets.token_hex(4)


def _path(inputs: Props) -> str:
    return f"volume/csi/{quote(inputs['volumeId'], safe='')}"


def _volume(api: NomadApi, inputs: Props) -> dict[str, Any] | None:
    try:
        return dict(api.get(_path(inputs), namespace=inputs["namespace"]))
    except NomadNotFound:
        return None


def _expand(ctx: Context, api: NomadApi, inputs: Props, volume: dict[str, Any]) -> str:
    """Asks Nomad to expand the volume where it is mounted; the reason where a driver refuses. Raises NomadError.

    Doing it again is harmless: Nomad compares the sizes, and so does the driver.
    """
    # Nomad shows mount flags and secrets to nobody, but takes those given here for the new ones.
    options = {**(volume.get("MountOptions") or {}), "MountFlags": inputs["mountFlags"] or []}
    registration = {key: volume.get(key) for key in _CARRIED} | {
        "MountOptions": options,
        "Secrets": inputs["secrets"] or {},
        "RequestedCapacityMin": inputs["sizeGib"] * _GIB,
    }
    if volume.get("RequestedCapacityMin") == registration["RequestedCapacityMin"]:
        return ""
    limit_s = ctx.timeout_s or inputs["timeoutS"]
    ctx.log("info", f"asking Nomad to grow volume {inputs['volumeId']} where it is mounted", ephemeral=True)
    try:
        ctx.call(
            lambda: api.put(
                _path(inputs), {"Volumes": [registration]}, timeout_s=limit_s, namespace=inputs["namespace"]
            )
        )
    except NomadApiError as error:
        if error.status != 500 or "expand" not in error.body.lower():
            raise
        return _reason(error.body)
    return ""


def _reason(body: str) -> str:
    """The driver's own words in Nomad's answer, on one line."""
    return " ".join(body.rsplit("desc = ", maxsplit=1)[-1].split())
