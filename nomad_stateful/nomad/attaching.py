"""Waits until the volumes of a consumer can be attached, detached and unmounted, before the consumer changes."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from nomad_stateful.nomad import controllers, node_plugins
from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.paths import plugin_path, volume_path
from nomad_stateful.nomad.watching import watch
from nomad_stateful.waiting import Progress


def registered(api: NomadApi, namespace: str, volume_ids: Iterable[str]) -> list[dict[str, Any]]:
    """Returns those of the volumes that are registered, as Nomad's API has them. Raises NomadError."""
    found = (api.find(volume_path(volume_id), namespace=namespace) for volume_id in sorted(volume_ids))
    return [volume for volume in found if volume is not None]


def await_attachable(progress: Progress, api: NomadApi, volumes: Sequence[Mapping[str, Any]]) -> list[str]:
    """Waits until each plugin of the volumes does its part; returns what is wrong at the deadline.

    `volumes` are bodies of /v1/volume/csi/<id>. Raises NomadError.
    """
    mounted = node_plugins.mounted(volumes)
    for plugin_id in sorted({str(volume.get("PluginID") or "") for volume in volumes} - {""}):
        lacks: list[str] = []
        for plugin in watch(progress, api, plugin_path(plugin_id)):
            lacks = list(controllers.lacks(plugin_id, plugin or {}))
            lacks += node_plugins.lacks(api, plugin_id, plugin or {}, mounted.get(plugin_id, []))
            if not lacks:
                break
            progress.report(f"waiting until Nomad attaches and detaches volumes: {'; '.join(lacks)}")
        if lacks:
            return lacks
    return []
