"""What Nomad tells of a registered job besides the job itself."""

from __future__ import annotations

from urllib.parse import quote

from nomad_stateful.errors import ProviderError
from nomad_stateful.nomad.api import NomadApi, NomadNotFound
from nomad_stateful.nomad.job_rendering import Job
from nomad_stateful.plugin_server.plugin import Props
from nomad_stateful.waiting import Context


def import_identity(import_id: str) -> tuple[str, str]:
    """Id and namespace of `<id>@<namespace>`, the form in which namespaced resources are imported."""
    identity, separator, namespace = import_id.rpartition("@")
    if not separator:
        raise ProviderError(f"Import ID should follow the pattern <id>@<namespace>, not {import_id!r}")
    if not identity:
        raise ProviderError("Missing resource ID in import")
    if not namespace:
        raise ProviderError("Missing namespace in import")
    return identity, namespace


def job_path(job_id: str, part: str = "") -> str:
    """The API path of a job, or of a part of it."""
    return f"job/{quote(job_id, safe='')}{part}"


def job_allocations(ctx: Context, api: NomadApi, job: Job) -> list[str]:
    """Ids of the job's allocations; none, with a warning, when Nomad does not list them."""
    try:
        found = api.get(job_path(job["ID"], "/allocations"), all="false", namespace=job.get("Namespace") or "default")
    except ProviderError as error:
        ctx.log("warning", f"error listing allocations for job {job['ID']}, will return empty list: {error}")
        return []
    return [allocation["ID"] for allocation in found or []]


def job_submission(ctx: Context, api: NomadApi, job: Job, known: Props) -> Props:
    """The jobspec and variables the job's current version was submitted with, as far as Nomad kept them.

    A version made by scaling or reverting has none: what is known then stays.
    """
    namespace = job.get("Namespace") or "default"
    try:
        found = api.get(job_path(job["ID"], "/submission"), version=job.get("Version") or 0, namespace=namespace)
    except NomadNotFound:
        return {}
    except ProviderError as error:
        ctx.log("warning", f"error reading the submission of job {job['ID']}: {error}")
        return {}
    source = (found or {}).get("Source")
    if not source:
        return {}
    outputs: Props = {"jobspec": source}
    if (found.get("Format") or "hcl2") != "hcl2":
        return outputs
    flags = found.get("VariableFlags") or {}
    hcl2 = known.get("hcl2") or {}
    if flags != (hcl2.get("vars") or {}):
        outputs["hcl2"] = {"allowFs": bool(hcl2.get("allowFs"))} | ({"vars": flags} if flags else {})
    return outputs
