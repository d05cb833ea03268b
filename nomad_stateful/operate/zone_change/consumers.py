"""The jobs that use a volume: found, stopped, and waited for until they have released it."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from nomad_stateful.ebs.volumes import EbsVolumes
from nomad_stateful.nomad import attaching, volume_claims
from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.clients import Zones
from nomad_stateful.nomad.commands import scope
from nomad_stateful.nomad.consumer_job import ConsumerJob, volume_ids
from nomad_stateful.nomad.paths import job_path, volume_path
from nomad_stateful.nomad.running_job import allocations, is_running
from nomad_stateful.operate import stack
from nomad_stateful.operate.cluster import wait_for
from nomad_stateful.operate.dumps import restoring
from nomad_stateful.operate.progress import CONTEXT
from nomad_stateful.operate.zone_change.situation import ZoneChangeError
from nomad_stateful.recovery.stray_attachments import detach_safe
from nomad_stateful.recovery.volume_usage import inspect_volume
from nomad_stateful.waiting import Progress, Stopwatch

_STRAY_S = 10.0


class Consumers:
    """The jobs of a namespace that ask for one volume."""

    def __init__(self, nomad: NomadApi, namespace: str, volume_id: str) -> None:
        self._nomad = nomad
        self._namespace = namespace
        self._volume_id = volume_id
        self.scope = scope(namespace)
        """The option by which Nomad's command finds them."""

    def jobs(self) -> list[Mapping[str, Any]]:
        """Returns the jobs that ask for the volume, also stopped ones, by id. Raises NomadError.

        Nomad keeps batch jobs for hours that have ended, such as each run of a periodic one: they use nothing any more.
        """
        stubs = self._nomad.get("jobs", namespace=self._namespace) or []
        found = (self._nomad.find(job_path(str(stub["ID"])), namespace=self._namespace) for stub in stubs)
        using = [job for job in found if job and not _has_ended(job) and self._volume_id in volume_ids(job)]
        return sorted(using, key=lambda job: str(job["ID"]))

    def token(self) -> str:
        """Returns what is another value once one of the jobs was started or changed, or another one came."""
        known = [(job["ID"], job["JobModifyIndex"], bool(job.get("Stop"))) for job in self.jobs()]
        return hashlib.sha256(repr(known).encode()).hexdigest()[:16]

    def other_volumes(self, zone: str) -> list[str]:
        """Returns the jobs' other volumes that cannot be reached from a zone."""
        wanted = {one for job in self.jobs() for one in volume_ids(job)} - {self._volume_id}
        found = ((one, self._nomad.find(volume_path(one), namespace=self._namespace)) for one in sorted(wanted))
        return [one for one, volume in found if volume is not None and not _reachable(volume, zone)]

    def refuse_runs(self) -> None:
        """Raises ZoneChangeError where a run would be stopped halfway that nothing begins again.

        Of a dispatched one, and of a restore into the server that uses the volume, which has another volume itself.
        """
        if runs := [str(job["ID"]) for job in self.jobs() if job.get("Dispatched") and not job.get("Stop")]:
            raise ZoneChangeError(
                f"job {', '.join(runs)} uses volume {self._volume_id}, and was dispatched: stopped halfway, nothing "
                f"would begin it again. Wait for its end (`nomad job status{self.scope} {runs[0]}`), and run the same "
                "command again"
            )
        server = stack.database()
        into = server is not None and self._volume_id in {one.volume for one in server.servers}
        if server and into and (left := restoring(self._nomad, server)):
            raise ZoneChangeError(left)

    def stop(self, why: str, *, await_attachable_s: float) -> None:
        """Stops the jobs; before that it waits until Nomad detaches volumes, if that is wanted."""
        running = [job for job in self.jobs() if not job.get("Stop")]
        if running and await_attachable_s:
            volumes = attaching.registered(self._nomad, self._namespace, [self._volume_id])
            progress = Progress(CONTEXT, await_attachable_s)
            if lacks := attaching.await_attachable(progress, self._nomad, volumes):
                raise ZoneChangeError(
                    f"nothing is stopped: after {await_attachable_s:.0f} s {'; '.join(lacks)}, and Nomad may skip "
                    "detaching then. Fix the cause (`nomad plugin status -verbose`), and run the same command again"
                )
        for job in running:
            ConsumerJob(self._nomad, self._namespace, str(job["ID"])).stop(CONTEXT, why)
        for job in running:
            ConsumerJob(self._nomad, self._namespace, str(job["ID"])).await_evaluated(CONTEXT)

    def await_released(self, ebs: EbsVolumes, external_id: str, timeout_s: float) -> None:
        """Waits until nothing claims the volume and EC2 has it detached. Raises TimedOutError."""
        attached = Stopwatch()

        def probe() -> bool:
            volume = self._nomad.find(volume_path(self._volume_id), namespace=self._namespace)
            if volume_claims.claims(volume):
                return False
            if ebs.state(external_id).is_free:
                return True
            if attached.seconds >= _STRAY_S:
                usage = inspect_volume(self._nomad, self._namespace, self._volume_id, external_id, ebs)
                detach_safe(CONTEXT, ebs, usage)
                attached.restart()
            return False

        wait_for(
            f"volume {self._volume_id} is released by Nomad, and {external_id} detached by EC2",
            probe,
            timeout_s,
            f"`nomad-stateful status` shows what holds it, `nomad-stateful recover {self._volume_id}` the way out; "
            "then run the same command again.",
        )

    def running_in(self, zone: str) -> list[str]:
        """Returns the running allocations of the jobs in a zone, as JOB on CLIENT."""
        zone_of = Zones(self._nomad)
        return sorted(
            f"{job['ID']} on {stub['NodeName']}"
            for job in self.jobs()
            for stub in allocations(self._nomad, str(job["ID"]), self._namespace)
            if is_running(stub) and zone_of(str(stub["NodeID"])) == zone
        )


def foreign(jobs: Sequence[Mapping[str, Any]], known: frozenset[str]) -> list[str]:
    """Returns the jobs that run and are neither the stack's nor runs of its jobs: no `pulumi up` starts them again."""
    return [
        str(job["ID"]) for job in jobs if not job.get("Stop") and known.isdisjoint((job["ID"], job.get("ParentID")))
    ]


def _has_ended(job: Mapping[str, Any]) -> bool:
    return job.get("Status") == "dead" and job.get("Type") in ("batch", "sysbatch")


def _reachable(volume: Mapping[str, Any], zone: str) -> bool:
    required = (volume.get("RequestedTopologies") or {}).get("Required") or []
    segments = [segment for topology in required for segment in (topology.get("Segments") or {}).values()]
    return not segments or zone in segments
