"""getJob: what a registered job runs, and which of its periodic runs fail."""

from __future__ import annotations

from typing import Any

from nomad_stateful.nomad.paths import job_path
from nomad_stateful.nomad.periodic_runs import failing_runs
from nomad_stateful.plugin_server.plugin import Props
from nomad_stateful.provider.declared import DeclaredFunction, OnCluster
from nomad_stateful.schema.functions import GET_JOB
from nomad_stateful.waiting import Context


class GetJob(OnCluster, DeclaredFunction):
    """The job as it is registered now; not there is no error."""

    table = GET_JOB

    def invoke(self, ctx: Context, args: Props) -> Props:
        namespace = self.table.arguments(args)["namespace"]
        api = self._api()
        job = api.find(job_path(args["jobId"]), namespace=namespace)
        if job is None:
            return {**args, "registered": False, "tasks": [], "failingRuns": []}
        groups = [] if job.get("Stop") else job.get("TaskGroups") or []
        runs = failing_runs(api, args["jobId"], namespace) if job.get("Periodic") else []
        return {
            **args,
            "registered": True,
            "tasks": [_task(group, task) for group in groups for task in group.get("Tasks") or []],
            "failingRuns": [
                {
                    "jobId": run.job_id,
                    "failures": run.failures,
                    "since": run.since,
                    "allocationId": run.allocation_id,
                    "task": run.task,
                    "reason": run.reason,
                    "again": run.again,
                }
                for run in runs
            ],
        }


def _task(group: dict[str, Any], task: dict[str, Any]) -> Props:
    config = task.get("Config") or {}
    volumes = {mount["Volume"]: mount.get("Destination", "") for mount in task.get("VolumeMounts") or []}
    sources = group.get("Volumes") or {}
    return {
        "name": task["Name"],
        "image": str(config.get("image") or ""),
        "args": [str(argument) for argument in config.get("args") or []],
        "volumes": sorted(sources[name]["Source"] for name in volumes if name in sources),
    }
