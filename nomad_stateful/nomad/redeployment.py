"""Redeployment of a job whose newest deployment failed: Nomad places no more allocations of that version."""

import contextlib
from collections.abc import Mapping
from typing import Any

from nomad_stateful.nomad.api import NomadApi, NomadApiError
from nomad_stateful.nomad.paths import job_path
from nomad_stateful.waiting import Context


def failed_deployment(api: NomadApi, job: Mapping[str, Any]) -> str:
    """Returns why the deployment of the job's newest version failed; empty if it did not, or there is none."""
    deployment = _deployment(api, job)
    return str(deployment.get("StatusDescription") or "it failed") if deployment.get("Status") == "failed" else ""


def is_deploying(api: NomadApi, job: Mapping[str, Any]) -> bool:
    """Returns whether the job's newest version is being deployed."""
    return _deployment(api, job).get("Status") not in {None, "successful", "failed", "cancelled"}


def goes_by_evaluations(api: NomadApi, job: Mapping[str, Any]) -> bool:
    """Returns whether a system job's newest version gets no deployment, since that of an earlier one failed.

    Nomad then replaces the allocation of one more client with each evaluation (`evaluate`), and makes none by itself.
    https://github.com/hashicorp/nomad/issues/28538 (1.11.0 to 2.0.5)
    """
    if job["Type"] != "system":
        return False
    found = _last_deployment(api, job)
    return found.get("Status") == "failed" and bool(found["JobVersion"] < job["Version"])


def evaluate(api: NomadApi, namespace: str, job_id: str, *, reschedule: bool = False) -> None:
    """Has Nomad evaluate a job now, which starts a delayed one elsewhere, and on request replaces what failed at once.

    Takes evaluate-job. Raises NomadError.
    """
    options = {"ForceReschedule": True} if reschedule else {}
    api.put(f"{job_path(job_id)}/evaluate", {"JobID": job_id, "EvalOptions": options}, namespace=namespace)


def _deployment(api: NomadApi, job: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the deployment of the job's newest version; nothing where there is none."""
    found = _last_deployment(api, job)
    return found if found.get("JobVersion") == job["Version"] else {}


def _last_deployment(api: NomadApi, job: Mapping[str, Any]) -> Mapping[str, Any]:
    return api.find(f"{job_path(job['ID'])}/deployment", namespace=job["Namespace"]) or {}


def deploy_again(ctx: Context, api: NomadApi, job: Mapping[str, Any]) -> int:
    """Returns the version to wait for; makes a new, equal one if the deployment of the newest failed.

    Evaluating the job, or submitting it unchanged, places nothing: for Nomad both belong to the deployment that failed.
    A version tag makes two equal versions differ, and restarts no task. A group that may not be rescheduled stays as it
    is.
    https://github.com/hashicorp/nomad/blob/v1.11.3/scheduler/reconciler/reconcile_cluster.go (placeAllocs)
    """
    reason = "" if job.get("Stop") else failed_deployment(api, job)
    if not reason:
        return int(job["Version"])
    version, path, namespace = job["Version"], job_path(job["ID"]), job["Namespace"]
    ctx.log("info", f"deploying job {job['ID']} again: the deployment of its version {version} failed: {reason}")
    tag = f"{path}/versions/failed-{version}/tag"
    if not job.get("VersionTag"):
        api.put(tag, {"Version": version, "Description": reason}, namespace=namespace)
    # Without this, failed allocations are replaced only after the reschedule delay, which grows to an hour.
    evaluate(api, namespace, job["ID"], reschedule=True)
    again = {**job, "VersionTag": None}
    submission = {"Job": again, "EnforceIndex": True, "JobModifyIndex": job["JobModifyIndex"]}
    try:
        api.put("jobs", submission, namespace=namespace)
    except NomadApiError as error:
        # Another client submitted it in between, or the first answer was lost: there is a newer version either way.
        if "Enforcing job modify index" not in error.body:
            raise
    if not job.get("VersionTag"):
        # Nomad keeps a tagged version for ever.
        with contextlib.suppress(NomadApiError):
            api.delete(tag, namespace=namespace)
    return int(api.get(path, namespace=namespace)["Version"])
