"""A CSI volume that exists, made known to Nomad, and one that its plugin makes and unmakes with the resource."""

from __future__ import annotations

from typing import Any

from nomad_stateful.plugin_server.plugin import Props
from nomad_stateful.plugin_server.values import contains_unknown
from nomad_stateful.waiting import Context
from sandbox.standins.plugins.nomad.csi_fields import COMMON_FIELDS, COMPUTED, volume_body
from sandbox.standins.plugins.nomad.csi_requests import VolumeKey, put_volume, remove_volume, volume_path
from sandbox.standins.plugins.nomad.csi_resource import CsiResource
from sandbox.standins.plugins.nomad.inputs import Field, plain


class CsiVolumeRegistration(CsiResource):
    """Registers a volume that exists at the storage provider; deleting it leaves that volume alone."""

    token = "nomad:index/csiVolumeRegistration:CsiVolumeRegistration"
    fields = COMMON_FIELDS | {
        "externalId": Field("string", required=True),
        "context": Field("map"),
        "deregisterOnDestroy": Field("bool", default=True),
    }
    forcing = frozenset({"volumeId", "externalId", "pluginId", "namespace"})

    def put(self, ctx: Context, inputs: Props) -> None:
        """Creation and update are one request, as Nomad merges a registration into the one it has."""
        body = volume_body(inputs) | {
            "ExternalID": inputs["externalId"],
            "Context": plain(inputs.get("context")),
            # what Nomad before 1.1 takes instead of capabilities
            **_legacy_mode(inputs),
        }
        put_volume(ctx, self.api, volume_path(inputs["volumeId"]), body, inputs.get("namespace") or "default")

    def import_extras(self) -> dict[str, str]:
        """A registration's context is an input."""
        return {"parameters": "Parameters", "context": "Context"}

    def delete(self, ctx: Context, id: str, state: Props) -> None:
        """Deregisters by force, which Nomad grants once every claiming allocation has stopped."""
        if state.get("deregisterOnDestroy") is False:
            ctx.log("info", f"volume {id} stays registered: deregisterOnDestroy is false")
            return
        namespace = state.get("namespace") or "default"
        remove_volume(
            ctx,
            self.api,
            VolumeKey(id, namespace),
            "deregistering",
            lambda: self.api.delete(volume_path(id), force="true", namespace=namespace),
        )


def _legacy_mode(inputs: Props) -> Props:
    first = volume_body(inputs)["RequestedCapabilities"][0]
    return {"AccessMode": first["AccessMode"], "AttachmentMode": first["AttachmentMode"]}


class CsiVolume(CsiResource):
    """Creates a volume at the storage provider through the plugin's controller; deleting it deletes the data."""

    token = "nomad:index/csiVolume:CsiVolume"
    fields = COMMON_FIELDS | {"snapshotId": Field("string")}
    forcing = frozenset({"volumeId", "pluginId", "namespace", "snapshotId", "capabilities"})
    computed = COMPUTED | {"externalId", "context"}

    def forces(self, path: str, state: Props, news: Props) -> bool:
        """Other capabilities, but as many, are an update to the official plugin."""
        if path.startswith("capabilities[") and not contains_unknown(news["capabilities"]):
            return len(state.get("capabilities") or []) != len(news["capabilities"])
        return super().forces(path, state, news)

    def topology_change_forces(self, path: str) -> bool:
        """A created volume cannot move: any change needs a new one."""
        return True

    def put(self, ctx: Context, inputs: Props) -> None:
        """Creation and expansion are one request."""
        body = volume_body(inputs)
        body["SnapshotID"] = inputs.get("snapshotId") or ""
        path = f"{volume_path(inputs['volumeId'])}/create"
        put_volume(ctx, self.api, path, body, inputs.get("namespace") or "default")

    def extra_outputs(self, volume: dict[str, Any]) -> Props:
        """What the plugin told about the volume it made."""
        return {"context": volume.get("Context") or {}}

    def delete(self, ctx: Context, id: str, state: Props) -> None:
        """Deletes the volume at the storage provider too."""
        namespace = state.get("namespace") or "default"
        remove_volume(
            ctx,
            self.api,
            VolumeKey(id, namespace),
            "deleting",
            lambda: self.api.delete(f"{volume_path(id)}/delete", namespace=namespace),
        )
