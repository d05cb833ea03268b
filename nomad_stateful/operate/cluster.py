"""Operations on jobs: find, stop, wait."""

import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

from botocore.exceptions import BotoCoreError, ClientError

from nomad_stateful.ebs import ec2_client
from nomad_stateful.ebs.ec2_client import Ec2Unavailable
from nomad_stateful.errors import ProviderError
from nomad_stateful.nomad import api as nomad_api
from nomad_stateful.nomad import running_job
from nomad_stateful.nomad.api import NomadApi, NomadError, NomadNotFound
from nomad_stateful.nomad.commands import scope
from nomad_stateful.nomad.consumer_job import ConsumerJob
from nomad_stateful.nomad.paths import job_path
from nomad_stateful.nomad.retry import RETRY_LIMIT_S
from nomad_stateful.nomad.running_job import Endpoint
from nomad_stateful.operate import stack
from nomad_stateful.operate.errors import OperateError, TimedOutError
from nomad_stateful.operate.progress import CONTEXT
from nomad_stateful.waiting import Pending, Progress, RetryPolicy

T = TypeVar("T")
POLL_S = 0.2
REPORT_EVERY_S = 5.0
_ENDS_S = 120.0


def connect(*, operator: bool = True, config: Mapping[str, Any] | None = None) -> NomadApi:
    """Returns the stack's cluster: that of its configuration, as its resources use it, else of NOMAD_ADDR.

    `config` is the configuration by whole keys, where Pulumi shows none yet.
    With NOMAD_OPERATOR_TOKEN, if set and wanted: a drain needs more permissions. An election, a server's restart and
    too many requests are waited out.
    """
    token = os.environ.get("NOMAD_OPERATOR_TOKEN", "") if operator else ""
    overrides = stack.nomad_config(config) | ({"token": token} if token else {})
    return NomadApi.from_env(overrides, retry=RetryPolicy(RETRY_LIMIT_S))


def wait_for(
    what: str | Callable[[], str],
    probe: Callable[[], T | None],
    timeout_s: float,
    remedy: str,
    poll_s: float | None = None,
) -> T:
    """Returns the probe's first result that is neither None nor False. Raises TimedOutError with the remedy.

    `what` may be asked each time that it is printed, for waits that know how far they are. A transient error of Nomad
    or AWS is no answer yet.
    """
    said = what if callable(what) else lambda: what

    def look() -> T | Pending:
        result, error = asked(probe)
        return Pending(f"waiting: {said()}", error) if result is None or result is False else result

    found = Progress(CONTEXT, timeout_s, REPORT_EVERY_S).wait(look, POLL_S if poll_s is None else poll_s)
    if isinstance(found, Pending):
        error = f" ({found.error})" if found.error else ""
        raise TimedOutError(f"{said()}: not after {timeout_s:.0f} s{error}. {remedy}")
    return found


def asked(probe: Callable[[], T | None]) -> tuple[T | None, str]:
    """Returns what a probe found, and the transient error that kept it from an answer, "" if none did."""
    try:
        return probe(), ""
    except (ProviderError, BotoCoreError, ClientError) as error:
        if not is_transient(error):
            raise
        return None, str(error)


def is_transient(error: Exception) -> bool:
    """Returns whether an error of Nomad or AWS passes by itself."""
    if isinstance(error, NomadError):
        return nomad_api.is_transient(error)
    return isinstance(error, Ec2Unavailable) or ec2_client.is_transient(error)


class Cluster:
    """One job on a Nomad cluster."""

    def __init__(self, nomad: NomadApi, job_id: str, namespace: str, group: str, port_label: str) -> None:
        self.nomad = nomad
        self.job_id = job_id
        self.namespace = namespace
        self._group = group
        self._port_label = port_label
        self._see_status = f"See `nomad job status{scope(namespace)} {job_id}`."

    def endpoint(self, not_on: str = "", not_allocation: str = "", timeout_s: float = 120) -> Endpoint:
        """Returns where the job runs, once it runs; not on `not_on` (a client), not as `not_allocation`."""

        def probe() -> Endpoint | None:
            try:
                found = running_job.endpoint(self.nomad, self.job_id, self.namespace, self._group, self._port_label)
            except NomadNotFound:
                return None
            if found is None or found.node_id == not_on or found.allocation_id == not_allocation:
                return None
            return found

        where = " on another client" if not_on else ""
        return wait_for(f"{self.job_id} runs{where}", probe, timeout_s, self._see_status)

    def purge_and_register(self) -> None:
        """Purges the job and registers the same version again, even if the purge fails or is interrupted.

        What somebody else registers meanwhile stays. Raises OperateError.
        """
        kept, stopped = self._definition(), 0
        try:
            stopped = self._stop()
            self._purge()
        finally:
            try:
                self._register_again(kept, stopped)
            except ProviderError as error:
                raise OperateError(
                    f"{self.job_id} is stopped and could not be registered again: {error}. Run `pulumi up --refresh`"
                ) from error

    def _register_again(self, kept: Mapping[str, Any], stopped: int) -> None:
        """Registers the job over what the stop left, which had that index, 0 where Nomad's answer to it was lost."""
        before, there = kept["Job"], self._found()
        last = stopped or (there if there and there.get("Stop") else before)["JobModifyIndex"]
        own = {"EnforceIndex": True, "JobModifyIndex": last if there else 0}
        try:
            self.nomad.put("jobs", {**kept, **own}, namespace=self.namespace)
        except NomadError as error:
            if "Enforcing job modify index" not in str(error):
                raise
            now = self._found() or {}
            # Also where the answer to the first try was lost.
            if now.get("Stop") or now.get("TaskGroups") != before["TaskGroups"]:
                raise OperateError(
                    f"somebody else registered {self.job_id} since it was stopped, as a `pulumi up` does, and it is "
                    f"left so: see `nomad job history{scope(self.namespace)} {self.job_id}`. Run the same command "
                    "again after that"
                ) from error

    def _found(self) -> dict[str, Any] | None:
        return self.nomad.find(job_path(self.job_id), namespace=self.namespace)

    def _definition(self) -> dict[str, Any]:
        """Returns the job as a registration, with the text of its job file if Nomad has it."""
        job = self.nomad.get(job_path(self.job_id), namespace=self.namespace)
        path = f"{job_path(self.job_id)}/submission"
        try:
            source = self.nomad.find(path, namespace=self.namespace, version=job["Version"])
        except NomadError as error:
            # Nomad decodes the variables in its answer, also those of a client that did not encode them.
            if "invalid URL escape" not in str(error):
                raise
            source = None
        return {"Job": job, "Submission": source}

    def stop_and_purge(self) -> None:
        """Stops the job, waits until it neither runs nor claims a volume, and purges it.

        A purge while it stops would have volumes detached under tasks that still write to them.
        """
        self._stop()
        self._purge()

    def stop(self, timeout_s: float) -> None:
        """Stops the job, and waits until its allocations have ended: none of it can start any more.

        Raises TimedOutError, NomadError.
        """
        self._stop()
        self._await_ended(timeout_s)

    def _stop(self) -> int:
        """Returns the job's index since it is stopped."""
        return int(self.nomad.delete(job_path(self.job_id), namespace=self.namespace)["JobModifyIndex"])

    def _purge(self) -> None:
        job = ConsumerJob(self.nomad, self.namespace, self.job_id)
        self._await_ended()
        wait_for(
            f"{self.job_id} releases its volumes",
            job.purge_if_ended,
            _ENDS_S,
            self._see_status,
        )

    def _await_ended(self, timeout_s: float = _ENDS_S) -> None:
        stubs = running_job.allocations(self.nomad, self.job_id, self.namespace)
        for allocation_id in [stub["ID"] for stub in stubs if stub["ClientStatus"] in running_job.LIVE]:
            wait_for(
                f"allocation {allocation_id[:8]} stops",
                partial(self._stopped, allocation_id),
                timeout_s,
                f"See `nomad alloc status{scope(self.namespace)} {allocation_id[:8]}`.",
            )

    def _stopped(self, allocation_id: str) -> bool:
        allocation = self.nomad.find(f"allocation/{allocation_id}", namespace=self.namespace)
        return allocation is None or allocation["ClientStatus"] in running_job.ENDED
