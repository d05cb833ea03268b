"""getOwners: which jobs and volumes exist, and which stack each belongs to, before anything is overwritten."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote

from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.ownership import Claim
from nomad_stateful.nomad.volume_claims import claims
from nomad_stateful.plugin_server.plugin import Context, Props
from nomad_stateful.provider.declared import DeclaredFunction
from nomad_stateful.schema.get_owners import GET_OWNERS

_PARALLEL = 8


class GetOwners(DeclaredFunction):
    """Asks for each id by itself, and once for the registrations of all namespaces that the token may see."""

    table = GET_OWNERS

    def __init__(self, api: Callable[[], NomadApi]) -> None:
        self._api = api

    def invoke(self, ctx: Context, args: Props) -> Props:
        wanted = self.table.arguments(args)
        api = self._api()
        subjects = [
            Claim(api, wanted["namespace"], kind, one_id)
            for kind, ids in (("job", wanted["jobs"]), ("volume", wanted["volumes"]))
            for one_id in ids
        ]
        with ThreadPoolExecutor(_PARALLEL) as pool:
            found = list(pool.map(_look, subjects))
        return {
            **args,
            "found": found,
            "registrations": [_registration(stub) for stub in api.get("volumes", type="csi", namespace="*") or []],
        }


def _look(claim: Claim) -> Props:
    holder, found = claim.holder(), claim.found()
    users = {one.job_id for one in claims(found)} if claim.kind == "volume" and found else set()
    return {
        "kind": claim.kind,
        "id": claim.id,
        "exists": found is not None or (claim.kind == "job" and _has_variable(claim)),
        "stopped": bool(found and found.get("Stop")),
        "users": sorted(user for user in users if user),
        "claim": claim.path,
        "stack": holder.stack if holder else "",
        "ownerId": holder.owner_id if holder else "",
    }


def _has_variable(claim: Claim) -> bool:
    """Tells whether there is a variable that belongs to a job of that id, which would be overwritten as well."""
    return claim.api.find(f"var/nomad/jobs/{quote(claim.id, safe='')}", namespace=claim.namespace) is not None


def _registration(stub: Mapping[str, Any]) -> Props:
    return {
        "namespace": stub["Namespace"],
        "id": stub["ID"],
        "externalId": stub.get("ExternalID") or "",
        "pluginId": stub.get("PluginID") or "",
    }
