"""Which instances of a CSI plugin run an older version of their job than its newest, and are about to be replaced."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.paths import job_path

ROLES = ("Controllers", "Nodes")


def outdated(api: NomadApi, plugin: Mapping[str, Any]) -> set[str]:
    """Returns the ids of allocations that Nomad replaces, from the body of /v1/plugin/csi/<id>. Raises NomadError.

    A system job keeps its version on a client that is ineligible: what runs there is not replaced.
    """
    newest: dict[tuple[str, str], int] = {}
    found = set()
    for stub in plugin.get("Allocations") or []:
        key = stub["Namespace"], stub["JobID"]
        if key not in newest:
            job = api.find(job_path(stub["JobID"]), namespace=stub["Namespace"]) or {}
            newest[key] = -1 if job.get("Stop") else job.get("Version", -1)
        if stub["JobVersion"] < newest[key] and is_eligible(api, stub["NodeID"]):
            found.add(stub["ID"])
    return found


def is_eligible(api: NomadApi, node_id: str) -> bool:
    """Returns whether the client is up and gets new allocations. Raises NomadError."""
    client = api.find(f"node/{node_id}") or {}
    return client.get("Status") == "ready" and client.get("SchedulingEligibility") == "eligible"


def without(plugin: Mapping[str, Any], alloc_ids: set[str]) -> dict[str, Any]:
    """Returns the plugin's body as if the instances that these allocations run were not there."""
    roles = {role: plugin.get(role) or {} for role in ROLES}
    kept = {
        role: {node_id: info for node_id, info in known.items() if not info or info.get("AllocID") not in alloc_ids}
        for role, known in roles.items()
    }
    return {**plugin, **kept}
