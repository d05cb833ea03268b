"""Which instances of a CSI plugin run an older version of their job than its newest, and are about to be replaced."""

import threading
from collections.abc import Collection, Mapping
from typing import Any

from nomad_stateful.nomad import clients, redeployment
from nomad_stateful.nomad.api import NomadApi, NomadApiError
from nomad_stateful.nomad.paths import job_path
from nomad_stateful.nomad.running_job import allocations, is_live
from nomad_stateful.waiting import Stopwatch

ROLES = ("Controllers", "Nodes")
_ASKING = threading.Lock()
_ASKED: dict[tuple[str, str], tuple[frozenset[str], Stopwatch]] = {}
"""Which allocations of the newest version were healthy when an evaluation was asked for, and since when it is."""
_ASK_AGAIN_S = 10.0


def outdated(api: NomadApi, plugin: Mapping[str, Any], eligible: Collection[str] | None = None) -> set[str]:
    """Returns the ids of allocations that Nomad replaces, from the body of /v1/plugin/csi/<id>. Raises NomadError.

    A system job keeps its version on a client that is ineligible: what runs there is not replaced. `eligible` is what
    `eligible_clients` returns, where that is known already.
    """
    stubs = plugin.get("Allocations") or []
    newest = {
        (namespace, job_id): _newest(api, namespace, job_id)
        for namespace, job_id in {(stub["Namespace"], stub["JobID"]) for stub in stubs}
    }
    older = [stub for stub in stubs if stub["JobVersion"] < newest[stub["Namespace"], stub["JobID"]]]
    if older and eligible is None:
        eligible = eligible_clients(api)
    return {stub["ID"] for stub in older if stub["NodeID"] in (eligible or ())}


def go_on(api: NomadApi, plugin: Mapping[str, Any], older: Collection[str]) -> bool:
    """Returns whether this process has evaluations replace what is older; asks for one once all others are healthy.

    Not of a job that the token may not evaluate, as another stack's. Raises NomadError.
    """
    stubs = plugin.get("Allocations") or []
    healthy = {info["AllocID"] for role in ROLES for info in (plugin.get(role) or {}).values() if _is_healthy(info)}
    goes_on = False
    for namespace, job_id in sorted({(stub["Namespace"], stub["JobID"]) for stub in stubs if stub["ID"] in older}):
        job = api.find(job_path(job_id), namespace=namespace)
        if job is None or not redeployment.goes_by_evaluations(api, job):
            continue
        listed = allocations(api, job_id, namespace)
        newest = frozenset(one["ID"] for one in listed if one["JobVersion"] == job["Version"] and is_live(one))
        if newest and newest <= healthy:
            goes_on |= _evaluate(api, job_id, namespace, newest)
        else:
            goes_on |= (namespace, job_id) in _ASKED
    return goes_on


def _evaluate(api: NomadApi, job_id: str, namespace: str, newest: frozenset[str]) -> bool:
    """Asks for the next client, for all waits of this process once; returns False where the token may not."""
    with _ASKING:
        known, since = _ASKED.get((namespace, job_id), (None, Stopwatch()))
        if known == newest and since.seconds < _ASK_AGAIN_S:
            return True
        _ASKED[namespace, job_id] = newest, Stopwatch()
    try:
        redeployment.evaluate(api, namespace, job_id)
    except NomadApiError as error:
        with _ASKING:
            _ASKED.pop((namespace, job_id), None)
        if error.status != 403:
            raise
        return False
    return True


def _is_healthy(info: Mapping[str, Any] | None) -> bool:
    return bool(info and info.get("Healthy"))


def _newest(api: NomadApi, namespace: str, job_id: str) -> int:
    """Returns a job's newest version, -1 where it is gone or is to stop, so that nothing replaces what runs."""
    job = api.find(job_path(job_id), namespace=namespace) or {"Stop": True}
    return -1 if job.get("Stop") else int(job["Version"])


def eligible_clients(api: NomadApi) -> set[str]:
    """Returns the ids of the clients that are up and get new allocations, by one request. Raises NomadError."""
    return {stub.id for stub in clients.listed(api) if stub.takes_work}


def without(plugin: Mapping[str, Any], alloc_ids: set[str]) -> dict[str, Any]:
    """Returns the plugin's body as if the instances that these allocations run were not there."""
    roles = {role: plugin.get(role) or {} for role in ROLES}
    kept = {
        role: {node_id: info for node_id, info in known.items() if not info or info.get("AllocID") not in alloc_ids}
        for role, known in roles.items()
    }
    return {**plugin, **kept}
