"""Why a CSI plugin is not healthy, from the allocations that should run it. Used in error messages only."""

from collections.abc import Iterator, Mapping
from typing import Any

from nomad_stateful.nomad.api import NomadApi, NomadError
from nomad_stateful.nomad.paths import job_path
from nomad_stateful.nomad.running_job import allocations

MAX_LINES = 12
EVENTS_PER_TASK = 2


def diagnose(api: NomadApi, plugin_id: str, plugin: Mapping[str, Any] | None) -> list[str]:
    """Returns lines for an error message; says what cannot be read instead of raising."""
    try:
        jobs = list(plugin_jobs(api, plugin_id))
        if not jobs:
            return [f"no running job has a csi_plugin block with id {plugin_id!r}: submit the plugin's jobs first"]
        lines = [line for job in jobs for line in _job_lines(api, job, _unhealthy_reasons(plugin))]
    except NomadError as error:
        return [f"the plugin's allocations cannot be read: {error}"]
    return lines[:MAX_LINES] or ["every allocation of the plugin runs: check that each zone has an eligible client"]


def plugin_jobs(api: NomadApi, plugin_id: str) -> Iterator[Mapping[str, Any]]:
    """Yields the jobs with a task of this plugin."""
    for stub in api.get("jobs", namespace="*"):
        # A run of a periodic job is never a plugin, and there may be hundreds.
        if stub.get("ParentID") or (stub.get("Status") == "dead" and stub.get("Stop")):
            continue
        job = api.get(job_path(stub["ID"]), namespace=stub["Namespace"])
        tasks = (task for group in job.get("TaskGroups") or [] for task in group.get("Tasks") or [])
        if any((task.get("CSIPluginConfig") or {}).get("ID") == plugin_id for task in tasks):
            yield job


def _unhealthy_reasons(plugin: Mapping[str, Any] | None) -> dict[str, str]:
    """Returns why each unhealthy instance of the plugin is unhealthy, by allocation."""
    infos = [info for role in ("Controllers", "Nodes") for info in ((plugin or {}).get(role) or {}).values() if info]
    return {info["AllocID"]: info.get("HealthDescription") or "unhealthy" for info in infos if not info["Healthy"]}


def _job_lines(api: NomadApi, job: Mapping[str, Any], unhealthy: Mapping[str, str]) -> Iterator[str]:
    listed = allocations(api, job["ID"], job["Namespace"])
    current = [alloc for alloc in listed if alloc["DesiredStatus"] == "run"]
    if not current:
        yield f"job {job['ID']}: no allocation is running{_placement(api, job)}"
    for alloc in current:
        if alloc["ClientStatus"] == "running" and alloc["ID"] not in unhealthy and not _restarted(alloc):
            continue
        health = f", {unhealthy[alloc['ID']]}" if alloc["ID"] in unhealthy else ""
        yield (
            f"allocation {alloc['ID'][:8]} of job {job['ID']} on {alloc['NodeName']}: {alloc['ClientStatus']}{health}"
            + "".join(f"; {event}" for event in _last_events(alloc))
        )


def _restarted(alloc: Mapping[str, Any]) -> bool:
    return any(state.get("Restarts") for state in (alloc.get("TaskStates") or {}).values())


def _last_events(alloc: Mapping[str, Any]) -> Iterator[str]:
    for task, state in (alloc.get("TaskStates") or {}).items():
        for event in (state.get("Events") or [])[-EVENTS_PER_TASK:]:
            yield f"{task}: {event['Type']}: {event.get('DisplayMessage') or ''}".rstrip(": ")


def _placement(api: NomadApi, job: Mapping[str, Any]) -> str:
    """Returns why the scheduler placed nothing, from the job's newest evaluation."""
    evaluations = api.get(f"{job_path(job['ID'])}/evaluations", namespace=job["Namespace"]) or []
    newest: Mapping[str, Any] = max(evaluations, key=lambda evaluation: evaluation["CreateIndex"], default={})
    reasons = []
    for metrics in (newest.get("FailedTGAllocs") or {}).values():
        reasons += [
            f"{count} nodes filtered by {what}" for what, count in (metrics.get("ConstraintFiltered") or {}).items()
        ]
        reasons += [
            f"{count} nodes exhausted of {what}" for what, count in (metrics.get("DimensionExhausted") or {}).items()
        ]
        if not metrics.get("NodesEvaluated"):
            reasons.append("no node of the job's datacenters and node pool is ready")
    return f" ({'; '.join(reasons)})" if reasons else ""
