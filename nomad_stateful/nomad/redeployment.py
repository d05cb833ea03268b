"""A job whose newest deployment failed: Nomad places no more of that version, whatever has changed since."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from nomad_stateful.nomad.api import NomadApi, NomadApiError, NomadNotFound
from nomad_stateful.plugin_server.plugin import Context


def failed_deployment(api: NomadApi, job: Mapping[str, Any]) -> str:
    """Why the deployment of the job's newest version failed; empty if it did not, or there is none."""
    try:
        deployment = api.get(f"{_path(job)}/deployment", namespace=job["Namespace"]) or {}
    except NomadNotFound:
        return ""
    if deployment.get("JobVersion") != job["Version"] or deployment.get("Status") != "failed":
        return ""
    return str(deployment.get("StatusDescription") or "it failed")


def deploy_again(ctx: Context, api: NomadApi, job: Mapping[str, Any]) -> int:
    """The version to wait for: a new one like the last, where the deployment of that failed.

    Evaluating the job, or submitting it unchanged, places nothing: Nomad takes both for the deployment that failed. A
    version differs from its like when one of them has a tag, which changes no task: what runs goes on running. A group
    that may not be rescheduled stays as it is.
    https://github.com/hashicorp/nomad/blob/v1.11.3/scheduler/reconciler/reconcile_cluster.go (placeAllocs)
    """
    reason = "" if job.get("Stop") else failed_deployment(api, job)
    if not reason:
        return int(job["Version"])
    version, path, namespace = job["Version"], _path(job), job["Namespace"]
    ctx.log("info", f"deploying job {job['ID']} again, for the deployment of its version {version} failed: {reason}")
    tag = f"{path}/versions/failed-{version}/tag"
    if not job.get("VersionTag"):
        api.put(tag, {"Version": version, "Description": reason}, namespace=namespace)
    # Or the allocations that failed would be replaced after their job's delay only, which grows to an hour.
    forced = {"JobID": job["ID"], "EvalOptions": {"ForceReschedule": True}}
    api.put(f"{path}/evaluate", forced, namespace=namespace)
    again = {**job, "VersionTag": None}
    submission = {"Job": again, "EnforceIndex": True, "JobModifyIndex": job["JobModifyIndex"]}
    try:
        api.put("jobs", submission, namespace=namespace)
    except NomadApiError as error:
        # Somebody else submitted it in between, or the first answer was lost: there is a newer version either way.
        if "Enforcing job modify index" not in error.body:
            raise
    if not job.get("VersionTag"):
        # A version with a tag is kept for ever.
        with contextlib.suppress(NomadApiError):
            api.delete(tag, namespace=namespace)
    return int(api.get(path, namespace=namespace)["Version"])


def _path(job: Mapping[str, Any]) -> str:
    return f"job/{quote(job['ID'], safe='')}"
