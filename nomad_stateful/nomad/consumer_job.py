"""The end of a job that uses volumes: it is stopped first, and purged last.

A purge removes a job's allocations from Nomad's state while their tasks may still run. Nomad then has volumes detached
that are still mounted (the client's `csi_hook` unmounts only once the tasks have ended), so a job is purged only when
it has no claim on a volume any more.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from nomad_stateful.errors import ProviderError
from nomad_stateful.nomad.api import NomadApi, NomadApiError
from nomad_stateful.nomad.paths import job_path, volume_path
from nomad_stateful.nomad.volume_claims import claims
from nomad_stateful.nomad.watching import watch
from nomad_stateful.waiting import Context, Progress

# Evaluations take milliseconds; a cluster that is busy, or has just lost its leader, needs longer.
EVALUATED_S = 60.0


@dataclass(frozen=True)
class ConsumerJob:
    """A job that may have the volumes of its groups mounted."""

    api: NomadApi
    namespace: str
    job_id: str

    def read(self) -> Mapping[str, Any] | None:
        """Returns the job's current version; None where there is no such job."""
        return self.api.find(job_path(self.job_id), namespace=self.namespace)

    def stop(self, ctx: Context, why: str) -> None:
        """Asks Nomad to stop the job, which stays in Nomad until it is purged."""
        ctx.log("info", f"stopping job {self.job_id} (namespace {self.namespace}): {why}")
        self.api.delete(job_path(self.job_id), namespace=self.namespace)

    def await_evaluated(self, ctx: Context, limit_s: float = EVALUATED_S) -> None:
        """Waits until Nomad's scheduler is done with the job: a purge that overtakes it ends Nomad's servers for good.

        Seen with 1.11.2 and 1.11.3: docs/runbook.md, "Nomad's servers panic". Raises ProviderError at the deadline.
        """
        path = f"{job_path(self.job_id)}/evaluations"
        pending: list[str] = []
        progress = Progress(ctx, limit_s)
        for listed in watch(progress, self.api, path, namespace=self.namespace):
            pending = [one["ID"] for one in listed or [] if one["Status"] == "pending" and not _is_delayed(one)]
            if not pending:
                return
            progress.report(f"waiting until Nomad has evaluated job {self.job_id}: evaluation {pending[0]} is pending")
        raise ProviderError(
            f"job {self.job_id} is not purged: Nomad has not evaluated it for {limit_s:.0f} s (evaluation {pending[0]} "
            "is pending), and a purge before that may crash its servers. See `nomad operator scheduler get-config` and "
            "the servers' load, and run the same command again"
        )

    def purge_if_ended(self) -> bool:
        """Purges a stopped job if none of its volumes is claimed; returns whether it is gone now."""
        job = self.read()
        if job is None:
            return True
        if not job.get("Stop") or any(self._is_claimed(volume_id) for volume_id in volume_ids(job)):
            return False
        try:
            self.api.delete(job_path(self.job_id), namespace=self.namespace, purge=True)
        except NomadApiError as error:
            # The release of another of its volumes purged it first.
            if "job not found" not in str(error):
                raise
        return True

    def others_on_its_volumes(self) -> Iterator[str]:
        """Yields what keeps the job from its volumes: other jobs' claims where one client may mount at a time."""
        for volume_id in volume_ids(self.read() or {}):
            volume = self._volume(volume_id) or {}
            if not str(volume.get("AccessMode", "")).startswith("single-node"):
                continue
            for claim in claims(volume):
                if claim.job_id != self.job_id:
                    yield f"volume {volume_id} is claimed by {claim}"

    def _is_claimed(self, volume_id: str) -> bool:
        # The claim of a garbage-collected allocation may be this job's.
        return any(claim.job_id in ("", self.job_id) for claim in claims(self._volume(volume_id)))

    def _volume(self, volume_id: str) -> Mapping[str, Any] | None:
        return self.api.find(volume_path(volume_id), namespace=self.namespace)


def volume_ids(job: Mapping[str, Any]) -> Iterator[str]:
    """Yields the ids of the CSI volumes that a job requests; with `per_alloc`, one for each allocation."""
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
    """Returns whether the job is from a release whose job files had no description, and the id as a variable."""
    ours = any("volume_release" in (group.get("Meta") or {}) for group in job.get("TaskGroups") or [])
    return ours and not job.get("UI")


def _is_delayed(evaluation: Mapping[str, Any]) -> bool:
    """Returns whether the evaluation waits for a time of its own, as one of a later rescheduling does."""
    return bool(evaluation.get("Wait")) or not str(evaluation.get("WaitUntil") or "0001").startswith("0001")
