"""The server's job in Nomad: its image, whether one of its versions ever started, and the way back to another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.paths import job_path
from nomad_stateful.nomad.running_job import allocations, last_events, newest
from nomad_stateful.operate.errors import OperateError

_NEVER = "0001-"


@dataclass(frozen=True)
class Registered:
    """One job."""

    nomad: NomadApi
    job_id: str
    namespace: str
    task: str
    """Name of the server's task."""

    def image(self) -> str:
        """Returns the server's image in the job's newest version. Raises OperateError, NomadError."""
        job = self.nomad.find(job_path(self.job_id), namespace=self.namespace)
        if job is None or task_of(job, self.task) is None:
            raise OperateError(f"job {self.job_id} is not registered in namespace {self.namespace}: run `pulumi up`")
        return self._image(job)

    def has_started(self, image: str) -> bool | None:
        """Returns whether the server ever started from this image; None where Nomad has no allocation of it to say."""
        versions = {int(one["Version"]) for one in self._versions() if self._image(one) == image}
        # Of the job before a purge too, whose versions were others.
        found = allocations(self.nomad, self.job_id, self.namespace)
        states = [self._state(one) for one in found if int(one["JobVersion"]) in versions]
        return any(_started(state) for state in states) if states else None

    def runs(self) -> bool:
        """Returns whether the newest allocation's server runs and has not ended before."""
        states = [self._state(one) for one in self._newest()]
        return any(state.get("State") == "running" and not state.get("Restarts") for state in states)

    def events(self) -> str:
        """Returns what Nomad says last of the newest allocation."""
        return "; ".join(line for one in self._newest() for line in last_events(one)) or "no allocation"

    def revert(self, image: str) -> None:
        """Has Nomad run the newest version with this image again. Raises OperateError, NomadError."""
        before = [int(one["Version"]) for one in self._versions() if self._image(one) == image]
        if not before:
            raise OperateError(f"Nomad has no version of job {self.job_id} with image {image}")
        body = {"JobID": self.job_id, "JobVersion": max(before)}
        self.nomad.put(f"{job_path(self.job_id)}/revert", body, namespace=self.namespace)

    def _versions(self) -> list[dict[str, Any]]:
        return list(self.nomad.get(f"{job_path(self.job_id)}/versions", namespace=self.namespace)["Versions"])

    def _newest(self) -> list[dict[str, Any]]:
        one = newest(allocations(self.nomad, self.job_id, self.namespace))
        return [] if one is None else [one]

    def _image(self, job: Mapping[str, Any]) -> str:
        return str(((task_of(job, self.task) or {}).get("Config") or {}).get("image") or "")

    def _state(self, stub: Mapping[str, Any]) -> Mapping[str, Any]:
        return (stub.get("TaskStates") or {}).get(self.task) or {}


def task_of(job: Mapping[str, Any], name: str) -> dict[str, Any] | None:
    """Returns the server's task of a job."""
    tasks = [task for group in job.get("TaskGroups") or [] for task in group.get("Tasks") or []]
    return next((dict(task) for task in tasks if task["Name"] == name), None)


def _started(state: Mapping[str, Any]) -> bool:
    at = str(state.get("StartedAt") or "")
    return bool(at) and not at.startswith(_NEVER)
