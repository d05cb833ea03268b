"""CsiVolumeGuard: refuses, before Nomad makes it, what the contents of a CSI volume would not survive."""

from collections.abc import Mapping
from typing import Any

from nomad_stateful.errors import ProviderError
from nomad_stateful.nomad.paths import volume_path
from nomad_stateful.plugin_server.plugin import Checked, CheckFailure, Props
from nomad_stateful.plugin_server.values import contains_unknown
from nomad_stateful.provider import volume_contents
from nomad_stateful.provider.declared import DeclaredResource, OnCluster, OnlyInState
from nomad_stateful.provider.resources.volume_guard import final_snapshot
from nomad_stateful.schema.volumes import CsiVolumeGuardProperties
from nomad_stateful.waiting import Context

# Nomad is not known to answer: what it would say is taken for granted.
_UNKNOWN: Mapping[str, Any] = {}


class CsiVolumeGuard(OnlyInState, OnCluster, DeclaredResource):
    """Remembers how a volume was made and formatted; the volume in Nomad depends on it."""

    table = CsiVolumeGuardProperties.table

    def check(self, ctx: Context, olds: Props, news: Props) -> Checked:
        inputs, failures = self.table.checked(news)
        if not failures:
            failures = self._later(ctx, olds, inputs) if olds else self._first(ctx, inputs)
        return Checked(_with_memory(olds, inputs), failures)

    def create(self, ctx: Context, inputs: Props) -> tuple[str, Props]:
        return f"{inputs['namespace']}/{inputs['volumeId']}", inputs

    def update(self, ctx: Context, id: str, state: Props, old_inputs: Props, inputs: Props) -> Props:
        return inputs

    def _first(self, ctx: Context, inputs: Props) -> list[CheckFailure]:
        """Refuses what an existing volume is not: it may be older than its guard, made by an earlier release."""
        volume = self._volume(ctx, inputs) if inputs["madeByDriver"] is True else None
        if not volume:
            return []
        if not volume_contents.is_made_by_driver(volume):
            return [volume_contents.provision_refusal(inputs)]
        return list(volume_contents.made_otherwise(volume_contents.seen_in_nomad(volume), inputs))

    def _later(self, ctx: Context, olds: Props, inputs: Props) -> list[CheckFailure]:
        if not any(
            volume_contents.changed(olds, inputs, key)
            for key in self.table.inputs.keys() - {"protect", "finalSnapshot"}
        ):
            return []
        volume = self._volume(ctx, olds)
        if volume is None and olds["madeByDriver"]:
            # Its creation failed, and may still be fixed: Nomad would know it.
            return []
        if volume_contents.changed(olds, inputs, "madeByDriver"):
            return [volume_contents.provision_refusal(inputs)]
        if _is_another(olds, inputs):
            return []
        failures: list[CheckFailure] = []
        if inputs["madeByDriver"] is True:
            failures += volume_contents.made_otherwise(olds, inputs)
            if users := volume_contents.holders(volume):
                failures += volume_contents.in_use(olds, inputs, users)
        if volume_contents.changed(olds, inputs, "attachmentMode"):
            failures.append(volume_contents.attachment_refusal(olds, inputs))
        if volume_contents.other_file_system(olds, inputs):
            held = None if volume is _UNKNOWN else volume_contents.holders(volume)
            failures += volume_contents.file_system(ctx, olds, inputs, held)
        return failures

    def _volume(self, ctx: Context, wanted: Props) -> Mapping[str, Any] | None:
        """Returns Nomad's record; None where it has none, _UNKNOWN where it does not answer."""
        try:
            found: Mapping[str, Any] | None = self._api().find(
                volume_path(wanted["volumeId"]), namespace=wanted["namespace"]
            )
        except ProviderError as error:
            ctx.log("warning", f"{error}; it is assumed that volume {wanted['volumeId']} exists and is used")
            return _UNKNOWN
        return found


def _is_another(olds: Props, inputs: Props) -> bool:
    """Tells whether other storage comes under this name; what replaces a volume of the program is refused there."""
    return bool(olds) and (
        contains_unknown(inputs["externalId"])
        or olds.get("externalId", "") != inputs["externalId"]
        or olds.get("madeByDriver") != inputs["madeByDriver"]
    )


def _with_memory(olds: Props, inputs: Props) -> Props:
    """Returns the inputs with what later checks need: where contents came from, and whether it ever was protected."""
    same = not _is_another(olds, inputs)
    remembered: Props = {"finalSnapshot": final_snapshot(olds, inputs)}
    if same and olds:
        remembered["hasContents"] = bool(olds.get("hasContents")) or inputs["hasContents"]
        if inputs["snapshotId"] == "":
            remembered["snapshotId"] = olds.get("snapshotId", "")
    return inputs | remembered
