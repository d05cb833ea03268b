"""How a file system follows its volume's size, mounted or by a restart of what has it mounted."""

import secrets
from collections.abc import Callable
from typing import Any

from nomad_stateful.errors import ProviderError
from nomad_stateful.nomad import file_system_size, volume_claims
from nomad_stateful.nomad.api import NomadApi, NomadError
from nomad_stateful.nomad.paths import volume_path
from nomad_stateful.plugin_server.plugin import Props
from nomad_stateful.schema.volumes import EITHER, ONLINE, RESTART
from nomad_stateful.waiting import Context, Progress

_NO_PERMISSION = "permission denied"


class FileSystemGrowth:
    """Grows the file system of one volume, with the inputs of VolumeGrowth."""

    def __init__(self, api: Callable[[], NomadApi]) -> None:
        self._api = api

    def may_restart(self, inputs: Props) -> bool:
        """Returns whether a growth may take a restart."""
        if inputs["mode"] != EITHER:
            return bool(inputs["mode"] == RESTART)
        try:
            api = self._api()
            volume = _volume(api, inputs)
            return volume is None or not _grows_mounted(api, volume)
        except NomadError:
            return True

    def grow(self, ctx: Context, inputs: Props, restart_id: str, *, quiet: bool = False) -> str:
        """Grows a mounted file system; returns the id of the restart that it takes, the given one without any."""
        api = self._api()
        volume = _volume(api, inputs)
        held = volume_claims.claims(volume)
        what = f"volume {inputs['volumeId']} has {inputs['sizeGib']} GiB"
        if volume is None or not held:
            if not quiet:
                ctx.log("info", f"{what}; nobody has it mounted: its file system grows when it is mounted next")
            return restart_id
        mounted = _grows_mounted(api, volume)
        if mounted or inputs["mode"] == ONLINE:
            before = file_system_size.of(api, held)
            refusal = file_system_size.expand(ctx, api, inputs, volume)
            if not refusal:
                progress = Progress(ctx, file_system_size.MEASURED_WITHIN_S)
                after = file_system_size.after_growth(progress, api, held, before)
                sizes = file_system_size.change(before, after)
                ctx.log("info", f"{what}; its file system grew while it was mounted{sizes}: nothing is restarted")
                return restart_id
            if refusal.by_node:
                raise ProviderError(_refused_by_node(what, refusal.reason))
            if inputs["mode"] != RESTART:
                raise ProviderError(_refused(what, refusal.reason))
            why = f"could not be asked to grow while it is mounted ({refusal.reason})"
        else:
            why = "does not grow while it is mounted: the driver cannot do that"
        ctx.log(
            "info",
            f"{what}; its file system {why}, so its consumer is restarted and the driver grows it while mounting it",
        )
        return secrets.token_hex(4)


def _volume(api: NomadApi, inputs: Props) -> dict[str, Any] | None:
    found: dict[str, Any] | None = api.find(volume_path(inputs["volumeId"]), namespace=inputs["namespace"])
    return found


def _grows_mounted(api: NomadApi, volume: Props) -> bool:
    return file_system_size.nodes_can_expand(api, volume.get("PluginID") or "")


def _refused(what: str, reason: str) -> str:
    return (
        f"{what}, but its file system could not be asked to grow while it is mounted: {reason}\nNothing was restarted. "
        "Fix the cause and run `pulumi up --refresh`. With growth: restart on the volume its consumer is restarted "
        "instead, and the driver grows the file system while mounting it"
    )


def _refused_by_node(what: str, reason: str) -> str:
    cause, fix = "", "Fix the cause"
    if _NO_PERMISSION in reason.lower():
        cause = "A process without CAP_SYS_RESOURCE may not grow a mounted ext4. "
        fix = (
            "Give the node plugin's container that capability (privileged), or run resize2fs on the device named "
            "above, as root on that client"
        )
    return (
        f"{what}, but the client refused to grow its file system while it is mounted: {reason}\n{cause}Nothing was "
        "restarted, and the job goes on with the old size. Until the file system has grown the job must not be "
        "restarted, moved or drained: the driver grows a mounted file system only, and would refuse to mount this one "
        f"again. {fix}, and run `pulumi up --refresh`. For a job that is down: docs/runbook.md, "
        "'Could not resize volume'"
    )
