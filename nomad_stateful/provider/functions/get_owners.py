"""getOwners: which jobs and volumes exist, and which stack each belongs to, before anything is overwritten."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from nomad_stateful.nomad import registration
from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.ownership import Claim, Holder
from nomad_stateful.nomad.volume_claims import claims
from nomad_stateful.plugin_server.plugin import Props
from nomad_stateful.provider.declared import DeclaredFunction, OnCluster
from nomad_stateful.schema.functions import GET_OWNERS
from nomad_stateful.waiting import Context

_PARALLEL = 8


class GetOwners(OnCluster, DeclaredFunction):
    """Asks once for all jobs, once for all registrations, and by itself for each claim and what is in no list."""

    table = GET_OWNERS

    def invoke(self, ctx: Context, args: Props) -> Props:
        wanted = self.table.arguments(args)
        api, namespace = self._api(), wanted["namespace"]
        with ThreadPoolExecutor(_PARALLEL) as pool:
            registrations = pool.submit(lambda: api.get("volumes", type="csi", namespace="*") or [])
            jobs = pool.submit(_jobs, api, namespace, wanted["jobs"])
            asked = [
                Claim(api, namespace, kind, one_id)
                for kind, ids in (("job", wanted["jobs"]), ("volume", wanted["volumes"]))
                for one_id in ids
            ]
            holders = list(pool.map(Claim.holder, asked))
            registered = {one["ID"] for one in registrations.result() if one["Namespace"] == namespace}
            listed = _Listed(jobs.result(), registered, wanted["users"])
            found = list(pool.map(listed.look, asked, holders))
        return {
            **args,
            "found": found,
            "registrations": [_registration(stub) for stub in registrations.result()],
        }


@dataclass(frozen=True)
class _Listed:
    """The jobs of the namespace by their ids, and the ids of its registrations as far as the token may list them."""

    jobs: Mapping[str, Mapping[str, Any]]
    registered: AbstractSet[str]
    with_users: bool

    def look(self, claim: Claim, holder: Holder | None) -> Props:
        """Returns what is said of one job or volume."""
        job = self.jobs.get(claim.id) if claim.kind == "job" else None
        exists, users, registered = self._volume(claim) if claim.kind == "volume" else (job is not None, [], "")
        return {
            "kind": claim.kind,
            "id": claim.id,
            "exists": exists or (claim.kind == "job" and _has_variable(claim)),
            "stopped": bool(job and job.get("Stop")),
            "users": users,
            "registered": registered,
            "claim": claim.path,
            "stack": holder.stack if holder else "",
            "ownerId": holder.owner_id if holder else "",
        }

    def _volume(self, claim: Claim) -> tuple[bool, list[str], str]:
        """Returns whether a volume is registered, which jobs use it, and what it is registered with."""
        if claim.id in self.registered and not self.with_users:
            return True, [], ""
        # Nomad leaves out of a list what the token may not list.
        found = claim.found()
        users = sorted({one.job_id for one in claims(found) if one.job_id})
        return found is not None, users, registration.text(found) if found else ""


def _jobs(api: NomadApi, namespace: str, wanted: Sequence[str]) -> dict[str, Mapping[str, Any]]:
    """Returns the jobs of a namespace without the runs of periodic and parameterized ones, of which there are many."""
    if not wanted:
        return {}
    return {one["ID"]: one for one in api.get("jobs", namespace=namespace, filter='ParentID == ""') or []}


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
