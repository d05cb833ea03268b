"""Whether a client is known to have unmounted a volume: by its events, and by its allocations."""

from collections.abc import Mapping
from typing import Any

from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.clients import Client

_ENDED = frozenset({"complete", "failed"})


def has_unmounted(api: NomadApi, client: Client, plugin_id: str, namespace: str, volume_id: str) -> bool:
    """Returns whether the client's last event on the volume is an unmount, and none of its allocations uses the volume.

    False where that is not known: a client keeps its last ten events only. Raises NomadError.
    https://github.com/hashicorp/nomad/blob/v1.11.3/client/pluginmanager/csimanager/volume.go (unmountVolumeImpl)
    """
    if client.status != "ready" or not client.has_healthy_plugin(plugin_id):
        return False
    if not _last_event_is_unmount(client, volume_id):
        return False
    allocations = api.find(f"node/{client.id}/allocations", namespace=namespace) or []
    if any(_uses(allocation, namespace, volume_id) for allocation in allocations):
        return False
    # An event names a volume by its id alone.
    listed = api.get("volumes", type="csi", namespace="*") or []
    return not any(volume["ID"] == volume_id and volume["Namespace"] != namespace for volume in listed)


def _last_event_is_unmount(client: Client, volume_id: str) -> bool:
    events = [event for event in client.events if (event.get("Details") or {}).get("volume_id") == volume_id]
    if not events:
        return False
    return events[-1].get("Message") == "Unmount volume" and events[-1]["Details"].get("success") == "true"


def _uses(allocation: Mapping[str, Any], namespace: str, volume_id: str) -> bool:
    if allocation.get("Namespace") != namespace or allocation.get("ClientStatus") in _ENDED:
        return False
    groups = (allocation.get("Job") or {}).get("TaskGroups") or []
    requests = (
        request
        for group in groups
        if group.get("Name") == allocation.get("TaskGroup")
        for request in (group.get("Volumes") or {}).values()
    )
    return any(
        request.get("Type") == "csi"
        and (request.get("Source") == volume_id or volume_id.startswith(f"{request.get('Source')}["))
        for request in requests
    )
