"""JobHealth: exists once the newest version of a job runs and passes its checks."""

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

from nomad_stateful.ebs.ec2_client import AwsPlace
from nomad_stateful.ebs.volumes import EbsVolumes
from nomad_stateful.errors import ProviderError
from nomad_stateful.nomad import redeployment, running_job
from nomad_stateful.nomad.api import NomadApi, NomadError, NomadNotFound
from nomad_stateful.nomad.commands import scope
from nomad_stateful.nomad.consumer_job import ConsumerJob
from nomad_stateful.nomad.ownership import Claim
from nomad_stateful.nomad.paths import job_path
from nomad_stateful.nomad.watching import watch
from nomad_stateful.plugin_server.plugin import UNKNOWN, Props, ReadResult
from nomad_stateful.provider.account import ResourceInAccount
from nomad_stateful.recovery.stray_attachments import StrayAttachments
from nomad_stateful.schema.jobs import JobHealthProperties
from nomad_stateful.waiting import Context, Progress

# What takes longer may be kept from its volume by an attachment that nothing claims.
_SLOW_S = 10.0
_LOOK_EVERY_S = 15.0


class JobHealth(ResourceInAccount):
    """Waits in create, and again in update when `triggers` changed, for healthy allocations of the job's group.

    Where the last deployment failed, it is made once more first: the job itself has no difference then. A volume of the
    job that is attached where nothing claims or uses it is detached there, in the account that is given.
    """

    table = JobHealthProperties.table
    remembers = False  # it asks while it waits, and nothing afterwards

    def __init__(self, api: Callable[[], NomadApi], ebs: Callable[[AwsPlace], EbsVolumes] = EbsVolumes) -> None:
        self._api = api
        self._ebs = ebs

    def create(self, ctx: Context, inputs: Props) -> tuple[str, Props]:
        serves = running_job.is_healthy if self._is_needed(inputs) else running_job.is_running
        return f"{inputs['namespace']}/{inputs['jobId']}/{inputs['group']}", inputs | self._wait(ctx, inputs, serves)

    def preview_update(self, ctx: Context, id: str, state: Props, inputs: Props) -> Props:
        return inputs | dict.fromkeys(self.computed, UNKNOWN)

    def update(self, ctx: Context, id: str, state: Props, old_inputs: Props, inputs: Props) -> Props:
        return inputs | self._wait(ctx, inputs)

    def read(self, ctx: Context, id: str, inputs: Props, state: Props) -> ReadResult | None:
        """Returns the allocation that runs now, or ran last; a job that is gone takes its health with it."""
        if not inputs:
            namespace, job_id, group = id.split("/", 2)
            inputs = self.table.defaults | {"jobId": job_id, "namespace": namespace, "group": group}
        api = self._api()
        path = job_path(inputs["jobId"])
        if api.find(path, namespace=inputs["namespace"]) is None:
            return None
        stubs = running_job.allocations(api, inputs["jobId"], inputs["namespace"])
        running = running_job.newest(filter(running_job.is_running, _of_group(stubs, inputs["group"])))
        # What hangs on an output must not change, or become unknown, because nothing runs at this moment.
        last = {name: state.get(name, "") for name in self.computed}
        return ReadResult(id, inputs, inputs | (_outputs(running) if running else last))

    def delete(self, ctx: Context, id: str, state: Props) -> None:
        """Purges a job that was stopped for one with another id; a running job is another resource's to stop.

        This goes before the job does, so here a deletion of what belongs to another stack ends.
        """
        claim = Claim(self._api(), state["namespace"], "job", state["jobId"])
        claim.refuse_another_owner(state.get("ownerId", ""), ctx.urn)
        job = ConsumerJob(self._api(), state["namespace"], state["jobId"])
        # The job's own deletion, by another provider, is a purge.
        job.await_evaluated(ctx)
        job.purge_if_ended()

    def _is_needed(self, inputs: Props) -> bool:
        """Returns whether somebody depends on the job's health."""
        serving = [job_path(job_id) for job_id in inputs.get("serving") or ()]
        found = (self._api().find(path, namespace=inputs["namespace"]) for path in serving)
        return not serving or any(job is not None for job in found)

    def _wait(
        self, ctx: Context, inputs: Props, serves: Callable[[dict[str, Any]], bool] = running_job.is_healthy
    ) -> Props:
        api = self._api()
        limit_s = ctx.timeout_s or inputs["timeoutS"]
        progress = Progress(ctx, limit_s)
        path = job_path(inputs["jobId"])
        job = self._job(api, path, inputs["namespace"])
        strays = self._strays(api, inputs)
        look_at_s = _SLOW_S
        if strays and redeployment.failed_deployment(api, job):
            strays.release(ctx)
        version = redeployment.deploy_again(ctx, api, job)
        stubs: list[dict[str, Any]] = []
        healthy: list[dict[str, Any]] = []
        wanted = inputs.get("allocations", 1)
        query = {"namespace": inputs["namespace"]}
        for listed in watch(progress, api, f"{path}/allocations", **query):
            placed = _of_group(listed or [], inputs["group"])
            stubs = [stub for stub in placed if stub["JobVersion"] >= version]
            healthy = [stub for stub in stubs if serves(stub)]
            if job.get("Type") == "system":
                # One on each client, those of an earlier version among them until they are replaced.
                wanted = max(wanted, sum(map(running_job.is_live, placed)))
                healthy += _without_deployment(api, job | {"Version": version}, stubs)
            if len(healthy) >= wanted and (one := running_job.newest(healthy)):
                return _outputs(one)
            if any(running_job.is_unhealthy(stub) for stub in stubs):
                reason = redeployment.failed_deployment(api, job | {"Version": version})
                if reason:
                    break
            progress.report(f"waiting for {_described(wanted)} of {inputs['jobId']}: {_situation(stubs)}")
            if strays and progress.elapsed_s >= look_at_s:
                strays.release(ctx)
                look_at_s = progress.elapsed_s + _LOOK_EVERY_S
        lines = [line for stub in stubs for line in running_job.last_events(stub)]
        lines += _failed_checks(api, stubs, inputs["namespace"])
        lines += ConsumerJob(api, inputs["namespace"], inputs["jobId"]).others_on_its_volumes()
        lines += strays.lines() if strays else ()
        details = "".join(f"\n  {line}" for line in lines)
        found = "no healthy allocation" if wanted == 1 else f"{len(healthy)} healthy allocations of {wanted}"
        at = f"{scope(inputs['namespace'])} {inputs['jobId']}"
        raise ProviderError(
            f"job {inputs['jobId']} has {found} after {progress.elapsed_s:.0f} s: {_situation(stubs)}.{details}"
            f"\nSee `nomad job status{at}` and `nomad alloc logs -job{at}`, fix the cause, and run the same command "
            "again; a slow start needs a larger timeoutS"
        )

    def _strays(self, api: NomadApi, inputs: Props) -> StrayAttachments | None:
        """Returns volumes of the job attached elsewhere; None where nobody said in which account they are."""
        place = self.given(inputs)
        if not place.account_id:
            return None
        return StrayAttachments(
            ConsumerJob(api, inputs["namespace"], inputs["jobId"]), functools.cache(lambda: self._ebs(place))
        )

    def _job(self, api: NomadApi, path: str, namespace: str) -> dict[str, Any]:
        try:
            job: dict[str, Any] = api.get(path, namespace=namespace)
        except NomadNotFound as error:
            raise ProviderError(
                f"there is no {path} in namespace {namespace}: run `pulumi up --refresh` to register it again"
            ) from error
        return job


def _without_deployment(api: NomadApi, job: Mapping[str, Any], stubs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns those that run and are in no deployment: of a client that came later, or of Nomad Enterprise 1.10."""
    unjudged = [stub for stub in stubs if running_job.is_running(stub) and running_job.is_unjudged(stub)]
    return [] if not unjudged or redeployment.is_deploying(api, job) else unjudged


def _failed_checks(api: NomadApi, stubs: Sequence[dict[str, Any]], namespace: str) -> Iterator[str]:
    """Yields what checks of allocations said that run and are not healthy."""
    for stub in filter(running_job.is_running, stubs):
        # The error is of the job.
        with contextlib.suppress(NomadError):
            failed = filter(itemgetter(1), running_job.checks(api, stub, namespace).items())
            yield from (f"{stub['ID'][:8]} on {stub['NodeName']}, check {name}: {said}" for name, said in failed)


def _described(count: int) -> str:
    return "a healthy allocation" if count == 1 else f"{count} healthy allocations"


def _of_group(stubs: list[dict[str, Any]], group: str) -> list[dict[str, Any]]:
    return [stub for stub in stubs if stub["TaskGroup"] == group]


def _outputs(stub: dict[str, Any]) -> Props:
    return {"allocationId": stub["ID"], "nodeName": stub["NodeName"]}


def _situation(stubs: list[dict[str, Any]]) -> str:
    if not stubs:
        return "none is placed yet"
    return ", ".join(f"{stub['ID'][:8]} on {stub['NodeName']} is {stub['ClientStatus']}" for stub in stubs)
