"""nomad:index/csiVolumeRegistration:CsiVolumeRegistration: an existing volume made known to Nomad."""

from __future__ import annotations

from nomad_stateful.plugin_server.plugin import Props
from nomad_stateful.waiting import Context
from sandbox.standins.plugins.nomad.csi_fields import COMMON_FIELDS, volume_body
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

        def call() -> None:
            self.api.delete(volume_path(id), force="true", namespace=namespace)

        remove_volume(ctx, self.api, VolumeKey(id, namespace), "deregistering", call)


def _legacy_mode(inputs: Props) -> Props:
    first = volume_body(inputs)["RequestedCapabilities"][0]
    return {"AccessMode": first["AccessMode"], "AttachmentMode": first["AttachmentMode"]}
