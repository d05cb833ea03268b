"""What an operator does to jobs and clients: stop, wait, drain."""

import os
import sys
import time
from collections.abc import Callable
from typing import Any, TypeVar

from nomad_stateful.nomad import running_job
from nomad_stateful.nomad.api import NomadApi, NomadNotFound
from nomad_stateful.nomad.consumer_job import ConsumerJob
from nomad_stateful.nomad.fingerprint import ZONE_ATTRIBUTE
from nomad_stateful.nomad.running_job import Endpoint
from nomad_stateful.plugin_server.values import ProviderError

T = TypeVar("T")
POLL_S = 0.2
REPORT_EVERY_S = 5.0


class WaitedTooLong(Exception):  # noqa: N818
    """A deadline passed."""


def connect() -> NomadApi:
    """The cluster of NOMAD_ADDR, with NOMAD_OPERATOR_TOKEN if set: draining needs more than the program may."""
    token = os.environ.get("NOMAD_OPERATOR_TOKEN", "")
    return NomadApi.from_env({"token": token} if token else {})


def wait_for(what: str, probe: Callable[[], T | None], timeout_s: float, remedy: str) -> T:
    """The probe's first result that is not None; says what is waited for, and raises WaitedTooLong with the remedy."""
    start = time.monotonic()
    next_report = start + REPORT_EVERY_S
    while True:
        result = probe()
        if result is not None:
            return result
        now = time.monotonic()
        if now - start >= timeout_s:
            raise WaitedTooLong(f"{what}: not after {timeout_s:.0f} s. {remedy}")
        if now >= next_report:
            print(f"    waiting since {now - start:.0f} s (until {timeout_s:.0f} s): {what}", file=sys.stderr)
            next_report = now + REPORT_EVERY_S
        time.sleep(POLL_S)


class Cluster:
    """One job on a Nomad cluster, and the clients it runs on."""

    def __init__(self, nomad: NomadApi, job_id: str, namespace: str, group: str, port_label: str) -> None:
        self.nomad = nomad
        self.job_id = job_id
        self.namespace = namespace
        self._group = group
        self._port_label = port_label

    def endpoint(self, not_on: str = "", not_allocation: str = "", timeout_s: float = 120) -> Endpoint:
        """Where the job runs, once it runs; not on that client and not as that allocation, where given."""

        def probe() -> Endpoint | None:
            try:
                found = running_job.endpoint(self.nomad, self.job_id, self.namespace, self._group, self._port_label)
            except NomadNotFound:
                return None
            if found is None or found.node_id == not_on or found.allocation_id == not_allocation:
                return None
            return found

        where = " on another client" if not_on else ""
        return wait_for(f"{self.job_id} runs{where}", probe, timeout_s, f"See `nomad job status {self.job_id}`.")

    def purge_and_register(self) -> None:
        """Purges the job and registers it again, as the version that runs; also where the purge fails or is cut off."""
        kept = self._definition()
        try:
            self.stop_and_purge()
        finally:
            try:
                self.nomad.put("jobs", kept, namespace=self.namespace)
            except ProviderError as error:
                raise RuntimeError(
                    f"{self.job_id} is stopped and could not be registered again: {error}. `pulumi up --refresh` does"
                ) from error

    def _definition(self) -> dict[str, Any]:
        """The job in the form in which it is registered, with the text of its file where Nomad has it."""
        job = self.nomad.get(f"job/{self.job_id}", namespace=self.namespace)
        try:
            source = self.nomad.get(f"job/{self.job_id}/submission", namespace=self.namespace, version=job["Version"])
        except NomadNotFound:
            source = None
        return {"Job": job, "Submission": source}

    def stop_and_purge(self) -> None:
        """Stops the job, waits until nothing of it runs or holds a volume, and purges it.

        A job that is purged while it stops leaves volumes to be detached under tasks that still write to them.
        """
        job = ConsumerJob(self.nomad, self.namespace, self.job_id)
        running = [stub["ID"] for stub in self._allocations() if stub["ClientStatus"] in ("pending", "running")]
        self.nomad.delete(f"job/{self.job_id}", namespace=self.namespace)
        for allocation_id in running:
            wait_for(
                f"allocation {allocation_id[:8]} stops",
                lambda wanted=allocation_id: self._stopped(wanted),  # type: ignore[misc]
                120,
                f"See `nomad alloc status {allocation_id[:8]}`.",
            )
        wait_for(
            f"{self.job_id} lets go of its volumes",
            lambda: job.purge_if_ended() or None,
            120,
            f"See `nomad job status {self.job_id}`.",
        )

    def drain(self, node_id: str) -> None:
        """Moves everything but system jobs away from a client."""
        spec = {"Deadline": int(300e9), "IgnoreSystemJobs": True}
        self.nomad.put(f"node/{node_id}/drain", {"DrainSpec": spec, "MarkEligible": False})

    def undrain(self, node_id: str) -> None:
        """Lets a client take work again."""
        self.nomad.put(f"node/{node_id}/drain", {"DrainSpec": None, "MarkEligible": True})

    def other_clients(self, node_id: str, zone: str) -> list[str]:
        """Names of the other clients of a zone that are ready for work."""
        names = []
        for stub in self.nomad.get("nodes"):
            if stub["ID"] == node_id or stub["Status"] != "ready" or stub["SchedulingEligibility"] != "eligible":
                continue
            attributes = self.nomad.get(f"node/{stub['ID']}")["Attributes"]
            if attributes.get(ZONE_ATTRIBUTE) == zone:
                names.append(stub["Name"])
        return names

    def _allocations(self) -> list[dict[str, Any]]:
        return list(self.nomad.get(f"job/{self.job_id}/allocations", namespace=self.namespace))

    def _stopped(self, allocation_id: str) -> bool | None:
        try:
            status = self.nomad.get(f"allocation/{allocation_id}", namespace=self.namespace)["ClientStatus"]
        except NomadNotFound:
            return True
        return True if status in ("complete", "failed", "lost") else None
