"""What the protection of a registered volume does for the file system on it: keeps it, and grows it with the volume."""

from collections.abc import Callable, Mapping
from typing import Any

from nomad_stateful.errors import ProviderError
from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.paths import volume_path
from nomad_stateful.plugin_server.plugin import CheckFailure, Props
from nomad_stateful.plugin_server.values import contains_unknown
from nomad_stateful.provider import volume_contents
from nomad_stateful.provider.file_system_growth import FileSystemGrowth
from nomad_stateful.schema.volumes import GROWN_WITHIN_S
from nomad_stateful.waiting import Context


class KeptFileSystem:
    """The file system on a volume, with the inputs of VolumeProtection."""

    def __init__(self, api: Callable[[], NomadApi]) -> None:
        self._api = api
        self._growth = FileSystemGrowth(api)

    def refusals(self, ctx: Context, olds: Props, inputs: Props) -> list[CheckFailure]:
        """Refuses another file system or attachment than the contents have."""
        before = olds if "attachmentMode" in olds else self._seen(ctx, inputs)
        news = inputs | {"volumeId": inputs["volumeName"]}
        failures = []
        if volume_contents.changed(before, news, "attachmentMode"):
            failures.append(volume_contents.attachment_refusal(before, news))
        if volume_contents.other_file_system(before, news):
            failures += volume_contents.file_system(ctx, before, news, self._holders(ctx, inputs))
        return failures

    def may_restart(self, state: Props, inputs: Props) -> bool:
        """Returns whether the update may take a restart of the consumer; inputs may be unknown."""
        return grows(state, inputs) and self._growth.may_restart(_as_growth(state, inputs))

    def begin(self, ctx: Context, inputs: Props) -> str:
        """Grows what is in use already, and may be behind; returns the id of the restart that it takes."""
        if not inputs["sizeGib"] or inputs["sizeGib"] == inputs["earlierSizeGib"] or self._is_another(inputs):
            return restart_id({}, inputs)
        return self._growth.grow(ctx, _as_growth({}, inputs), restart_id({}, inputs), quiet=True)

    def _is_another(self, inputs: Props) -> bool:
        """Returns whether Nomad still has another EBS volume by this name, whose place this one takes.

        Its clients may be lost with their zone, and it may be claimed by what ran there: it is nothing to grow.
        """
        found = self._api().find(volume_path(inputs["volumeName"]), namespace=inputs["registeredIn"]) or {}
        return bool(found.get("ExternalID")) and found["ExternalID"] != inputs["volumeId"]

    def follow(self, ctx: Context, state: Props, inputs: Props) -> str:
        """Grows with the volume; returns the id of the restart that it takes, the earlier one without any."""
        if not grows(state, inputs):
            return restart_id(state, inputs)
        return self._growth.grow(ctx, _as_growth(state, inputs), restart_id(state, inputs))

    def _seen(self, ctx: Context, inputs: Props) -> Props:
        """Returns what Nomad has registered: an earlier release kept it elsewhere in the state."""
        otherwise = f"whether volume {inputs['volumeName']} keeps its file system is not known"
        volume = self._volume(ctx, inputs, otherwise) or {}
        capabilities = volume.get("RequestedCapabilities") or [{}]
        seen = {
            "attachmentMode": capabilities[0].get("AttachmentMode"),
            "fsType": (volume.get("MountOptions") or {}).get("FSType"),
        }
        return {key: value for key, value in seen.items() if value}

    def _holders(self, ctx: Context, inputs: Props) -> str | None:
        otherwise = f"it is assumed that volume {inputs['volumeName']} is used"
        volume = self._volume(ctx, inputs, otherwise)
        return None if volume is None else volume_contents.holders(volume)

    def _volume(self, ctx: Context, inputs: Props, otherwise: str) -> Mapping[str, Any] | None:
        """Returns Nomad's record, {} where it has none; None, with a warning, where it does not answer."""
        try:
            return self._api().find(volume_path(inputs["volumeName"]), namespace=inputs["registeredIn"]) or {}
        except ProviderError as error:
            ctx.log("warning", f"{error}; {otherwise}")
            return None


def restart_id(state: Props, inputs: Props) -> str:
    """Returns the id of the last restart that a growth took."""
    return str(state.get("restartId") or inputs["earlierRestartId"])


def grows(state: Props, inputs: Props) -> bool:
    """Returns whether the volume has another size since; inputs may be unknown."""
    known, wanted = state.get("sizeGib") or inputs["earlierSizeGib"], inputs["sizeGib"]
    return bool(known) and (contains_unknown(wanted) or bool(wanted and wanted != known))


def _as_growth(state: Props, inputs: Props) -> Props:
    """Returns the inputs of VolumeGrowth. The flags are those that the volume is registered with now."""
    return {
        "volumeId": inputs["volumeName"],
        "namespace": inputs["registeredIn"],
        "sizeGib": inputs["sizeGib"],
        "mountFlags": state.get("mountFlags", inputs["mountFlags"]),
        "secrets": state.get("secrets", inputs["secrets"]),
        "mode": inputs["growth"],
        "timeoutS": GROWN_WITHIN_S,
    }
