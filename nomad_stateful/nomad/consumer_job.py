"""The job that uses a volume, on its way out: stopped first, forgotten last.

A purged job takes its allocations out of Nomad's state while their tasks may still run. Nomad then asks the storage to
detach volumes that are still mounted (`csi_hook` of the client unmounts only once the tasks have ended), so a job is
purged only when nothing of it holds a volume any more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from nomad_stateful.nomad.api import NomadApi, NomadApiError, NomadNotFound
from nomad_stateful.nomad.volume_claims import claims
from nomad_stateful.plugin_server.plugin import Context


@dataclass(frozen=True)
class ConsumerJob:
    """A job that may have the volumes of its groups mounted."""

    api: NomadApi
    namespace: str
    job_id: str

    def read(self) -> Mapping[str, Any] | None:
        """The job's current version as Nomad has it; None where there is none."""
        try:
            job: Mapping[str, Any] = self.api.get(self._path, namespace=self.namespace)
        except NomadNotFound:
            return None
        return job

    def stop(self, ctx: Context, why: str) -> None:
        """Asks Nomad to stop the job, which stays known until it is purged."""
        ctx.log("info", f"stopping job {self.job_id} (namespace {self.namespace}): {why}")
        self.api.delete(self._path, namespace=self.namespace)

    def purge_if_ended(self) -> bool:
        """Purges a stopped job once none of its volumes is claimed; whether it is gone now."""
        job = self.read()
        if job is None:
            return True
        if not job.get("Stop") or any(self._is_claimed(volume_id) for volume_id in volume_ids(job)):
            return False
        try:
            self.api.delete(self._path, namespace=self.namespace, purge=True)
        except NomadApiError as error:
            # The release of another of its volumes was faster.
            if "job not found" not in str(error):
                raise
        return True

    def others_on_its_volumes(self) -> Iterator[str]:
        """Yields what keeps the job from its volumes: claims of other jobs where one client may mount at a time."""
        for volume_id in volume_ids(self.read() or {}):
            volume = self._volume(volume_id) or {}
            if not str(volume.get("AccessMode", "")).startswith("single-node"):
                continue
            for claim in claims(volume):
                if claim.job_id != self.job_id:
                    yield f"volume {volume_id} is claimed by {claim}"

    @property
    def _path(self) -> str:
        return f"job/{quote(self.job_id, safe='')}"

    def _is_claimed(self, volume_id: str) -> bool:
        # A claim of an allocation that Nomad has forgotten may be this job's.
        return any(claim.job_id in ("", self.job_id) for claim in claims(self._volume(volume_id)))

    def _volume(self, volume_id: str) -> Mapping[str, Any] | None:
        try:
            volume: Mapping[str, Any] = self.api.get(
                f"volume/csi/{quote(volume_id, safe='')}", namespace=self.namespace
            )
        except NomadNotFound:
            return None
        return volume


def volume_ids(job: Mapping[str, Any]) -> Iterator[str]:
    """Ids of the CSI volumes that a job's version asks for; of a volume for each allocation, all of them."""
    for group in job.get("TaskGroups") or []:
        for request in (group.get("Volumes") or {}).values():
            if request.get("Type") != "csi":
                continue
            if not request.get("PerAlloc"):
                yield request["Source"]
                continue
            for index in range(int(group.get("Count") or 0)):
                yield f"{request['Source']}[{index}]"


def is_of_earlier_release(job: Mapping[str, Any]) -> bool:
    """Whether one of our job files was used before they had a description, and the job's id was a variable."""
    ours = any("volume_release" in (group.get("Meta") or {}) for group in job.get("TaskGroups") or [])
    return ours and not job.get("UI")
