"""getPlacement: whether Nomad's own scheduler would find clients for a job, without submitting it."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from nomad_stateful.nomad.api import NomadApi, NomadApiError, is_transient
from nomad_stateful.nomad.paths import job_path
from nomad_stateful.plugin_server.plugin import InvokeFailure, Props
from nomad_stateful.provider.declared import DeclaredFunction, OnCluster
from nomad_stateful.schema.functions import GET_PLACEMENT
from nomad_stateful.waiting import Context

_NO_FAILURE: Props = {"notChecked": "", "refused": "", "registeredToo": False, "failures": []}


class GetPlacement(OnCluster, DeclaredFunction):
    """Plans a copy of a job without its CSI volumes, which need not be registered yet."""

    table = GET_PLACEMENT

    def invoke(self, ctx: Context, args: Props) -> Props:
        wanted = self.table.arguments(args)
        api = self._api()
        job = _parsed(api, wanted)
        namespace = wanted["namespace"] or job.get("Namespace") or "default"
        found = _placement(api, job, wanted["parts"], namespace, wanted["constraints"])
        return {**args, "jobId": job["ID"], **_NO_FAILURE, **found}


def _placement(
    api: NomadApi, job: Mapping[str, Any], parts: Sequence[Props], namespace: str, more: Sequence[Props]
) -> Props:
    """Returns what there is to say beyond _NO_FAILURE."""
    try:
        failures = _plan(api, job, parts, namespace, more)
    except NomadApiError as error:
        if error.status == 403:
            return {"notChecked": str(error)}
        if is_transient(error):
            raise
        return {"refused": _reason(error.body)}
    if not failures:
        return {}
    return {"failures": failures, "registeredToo": _registered_too(api, job["ID"], parts, namespace)}


def _parsed(api: NomadApi, wanted: Props) -> dict[str, Any]:
    body = {"JobHCL": wanted["jobspec"], "Variables": wanted["variables"], "Canonicalize": True}
    try:
        job: dict[str, Any] = api.put("jobs/parse", body, namespace=wanted["namespace"] or "default")
    except NomadApiError as error:
        if error.status == 400:
            raise InvokeFailure("jobspec", _reason(error.body)) from None
        raise
    if len(job.get("TaskGroups") or []) != 1:
        raise InvokeFailure("jobspec", f"job {job['ID']} does not have one group: split it into jobs of one group")
    return job


def _plan(
    api: NomadApi, job: Mapping[str, Any], parts: Sequence[Props], namespace: str, more: Sequence[Props] = ()
) -> list[Props]:
    body = {"Job": copy(job, parts, more), "Diff": False}
    answer = api.put(f"{job_path(job['ID'])}/plan", body, namespace=namespace)
    failed = answer.get("FailedTGAllocs") or {}
    return [_failure(name, failed[name]) for name in sorted(failed)]


def copy(job: Mapping[str, Any], parts: Sequence[Props], more: Sequence[Props] = ()) -> dict[str, Any]:
    """Returns a service job that places the group's instances by part, each with constraints of its own.

    The parts stand in for the CSI volumes, whose plugin and registration a first `up` has yet to make, and for a system
    job's clients, of which Nomad does not say which it passes over. Under the job's own id its allocations make room.
    """
    (group,) = job["TaskGroups"]
    bare = {**group, "Update": None, "Reschedule": None}
    bare["Volumes"] = {
        name: volume for name, volume in (group.get("Volumes") or {}).items() if volume.get("Type") != "csi"
    }
    bare["Tasks"] = [_bare_task(task, bare["Volumes"]) for task in group["Tasks"]]
    groups = [
        {
            **bare,
            "Name": part["name"],
            "Count": int(part["count"]),
            "Constraints": [*map(_constraint, part.get("constraints") or []), *(group.get("Constraints") or [])],
        }
        for part in parts
    ]
    dropped = dict.fromkeys(("Update", "Reschedule", "Periodic", "ParameterizedJob"))
    constraints = [*(job.get("Constraints") or []), *map(_constraint, more)]
    return {**job, **dropped, "Type": "service", "Stop": False, "Constraints": constraints, "TaskGroups": groups}


def _bare_task(task: Mapping[str, Any], volumes: Mapping[str, Any]) -> dict[str, Any]:
    mounts = [mount for mount in task.get("VolumeMounts") or [] if mount["Volume"] in volumes]
    return {**task, "VolumeMounts": mounts}


def _constraint(constraint: Mapping[str, str]) -> dict[str, str]:
    return {
        "LTarget": constraint.get("attribute", ""),
        "Operand": constraint.get("operator", "="),
        "RTarget": constraint.get("value", ""),
    }


def _registered_too(api: NomadApi, job_id: str, parts: Sequence[Props], namespace: str) -> bool:
    """Tells whether the version that is registered would find no clients either: then it is no fault of the change."""
    job = api.find(job_path(job_id), namespace=namespace)
    if job is None or len(job.get("TaskGroups") or []) != 1:
        return False
    before = parts if job["Type"] == "system" else _capped(parts, int(job["TaskGroups"][0]["Count"]))
    try:
        return bool(before and _plan(api, job, before, namespace))
    except NomadApiError:
        return False


def _capped(parts: Sequence[Props], count: int) -> list[Props]:
    """Returns the parts up to a count, in their order."""
    left, kept = count, []
    for part in parts:
        taken = min(left, int(part["count"]))
        left -= taken
        if taken:
            kept.append({**part, "count": taken})
    return kept


def _failure(part: str, metrics: Mapping[str, Any]) -> Props:
    """Returns what Nomad counted while it looked for clients. https://developer.hashicorp.com/nomad/api-docs/allocations"""
    return {
        "part": part,
        "missing": 1 + int(metrics.get("CoalescedFailures") or 0),
        "clients": int(metrics.get("NodesEvaluated") or 0),
        "unfit": dict(metrics.get("ConstraintFiltered") or {}),
        "full": dict(metrics.get("DimensionExhausted") or {}),
    }


def _reason(body: str) -> str:
    """Returns one line of what Nomad's libraries put on several."""
    return re.sub(r"^\d+ errors? occurred: \* ", "", " ".join(body.split())).rstrip(".")
