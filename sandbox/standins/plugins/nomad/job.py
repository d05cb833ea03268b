"""nomad:index/job:Job: registers a job from its jobspec."""

from __future__ import annotations

from nomad_stateful.errors import ProviderError
from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.job_rendering import Job
from nomad_stateful.plugin_server.plugin import (
    UNKNOWN,
    Checked,
    CheckFailure,
    Diff,
    InitFailed,
    Kind,
    Props,
    ReadResult,
    ResourceType,
    property_diff,
)
from nomad_stateful.plugin_server.values import contains_unknown
from nomad_stateful.waiting import Context
from sandbox.standins.plugins.nomad.config import Connection, told, unless_gone
from sandbox.standins.plugins.nomad.inputs import checked, pick, plain, refreshed_inputs
from sandbox.standins.plugins.nomad.job_canonical import same_job
from sandbox.standins.plugins.nomad.job_inputs import (
    FIELDS,
    flag_changes,
    given_hcl2,
    hcl2_failures,
    submission,
)
from sandbox.standins.plugins.nomad.job_outputs import described_outputs, planned_outputs, registered_outputs
from sandbox.standins.plugins.nomad.job_state import import_identity, job_allocations, job_path, job_submission
from sandbox.standins.plugins.nomad.jobspec import JobSource, JobspecError, JobspecParser
from sandbox.standins.plugins.nomad.waits import wait_for_deployment, wait_for_evaluation

# Unknown until Nomad has registered the job (again)
_SERVER_SIDE = [
    *("modifyIndex", "allocationIds", "deploymentId", "deploymentStatus", "version", "submitTime"),
    *("status", "statusDescription"),
]
_JOBSPEC_SIDE = ["name", "namespace", "type", "region", "datacenters", "taskGroups"]
_FIRST_ONLY = [
    *("createIndex", "stop", "stable", "allAtOnce", "priority", "parentId", "constraints"),
    *("updateStrategies", "periodicConfigs"),
]
_DEFAULT_WAIT_S = 300.0


class JobResource(ResourceType):
    """Nomad jobs, parsed on this side so that a preview needs no Nomad."""

    token = "nomad:index/job:Job"

    def __init__(self, connection: Connection, parser: JobspecParser) -> None:
        self._connection = connection
        self._parser = parser

    @property
    def _api(self) -> NomadApi:
        return self._connection.api

    def check(self, ctx: Context, olds: Props, news: Props) -> Checked:
        """Besides the shapes, the jobspec must parse; it is never printed."""
        inputs, failures = checked(FIELDS, news, self.token)
        hcl2 = inputs.get("hcl2")
        if isinstance(hcl2, dict):
            failures += hcl2_failures(hcl2)
            if "allowFs" not in hcl2:
                inputs["hcl2"] = hcl2 | {"allowFs": False, "__defaults": ["allowFs"]}
        # The official plugin parses at the preview: only then is a jobspec in JSON, with `json` unknown, read as HCL.
        readable = not failures and not contains_unknown(inputs.get("json"))
        source = JobSource.from_inputs(inputs) if readable else None
        if source is not None:
            try:
                self._parser.parse(source)
            except JobspecError as error:
                failures.append(CheckFailure("", str(error)))
        return Checked(inputs, failures)

    def diff(self, ctx: Context, id: str, state: Props, old_inputs: Props, news: Props) -> Diff:
        """Compares jobs, not texts: layout, comments and spelled-out defaults change nothing.

        Nor do other variables make it another job: old and new text are both read with the new ones.
        """
        old, new = plain(state), plain(news)
        detailed = flag_changes(old, new) | property_diff(given_hcl2(old), given_hcl2(new), "hcl2")
        source = JobSource.from_inputs(new)
        if source is None:
            self._parse_without_variables(new)
            return Diff(detailed | {"jobspec": Kind.UPDATE})
        if self._text_changed(old, source):
            detailed["jobspec"] = Kind.UPDATE
            job = self._parser.parse(source)
            replaced_by = _new_identity(id, old, new, job)
            if replaced_by:
                return Diff(detailed | {replaced_by: Kind.UPDATE_REPLACE}, replaces=[replaced_by])
            if job["ID"] == id:
                self._require_same_index(ctx, old, new, job)
        if not detailed and new.get("rerunIfDead") is True and old.get("status") == "dead":
            detailed["status"] = Kind.UPDATE
        return Diff(detailed)

    def _parse_without_variables(self, inputs: Props) -> None:
        """Refuses a jobspec that is known while a variable that it needs is not, as the official plugin does."""
        if not contains_unknown([inputs.get("jobspec"), inputs.get("json")]):
            self._parser.parse(JobSource(inputs.get("jobspec") or "", bool(inputs.get("json"))))

    def preview_create(self, ctx: Context, inputs: Props) -> Props:
        """What the jobspec says is known, what Nomad adds is not."""
        if JobSource.from_inputs(inputs) is None:
            self._parse_without_variables(inputs)
        return {**plain(inputs), **dict.fromkeys(_FIRST_ONLY, UNKNOWN), **self._planned(inputs)}

    def preview_update(self, ctx: Context, id: str, state: Props, inputs: Props) -> Props:
        """Old outputs stay known unless the text changes, also where another variable will change them."""
        kept = {key: value for key, value in state.items() if key not in FIELDS}
        planned = self._planned(inputs) if self._is_planned_anew(state, inputs) else {}
        return {**kept, **plain(inputs), **planned}

    def _is_planned_anew(self, state: Props, inputs: Props) -> bool:
        """Whether the text changes, or a dead job is to run again."""
        source = JobSource.from_inputs(inputs)
        if source is None or self._text_changed(state, source):
            return True
        return inputs.get("rerunIfDead") is True and state.get("status") == "dead"

    def create(self, ctx: Context, inputs: Props) -> tuple[str, Props]:
        """Registers the job; with detach=false also waits until it is scheduled and deployed."""
        return self._register(ctx, inputs)

    def update(self, ctx: Context, id: str, state: Props, old_inputs: Props, inputs: Props) -> Props:
        """Registers the job again."""
        return self._register(ctx, inputs)[1]

    def read(self, ctx: Context, id: str, inputs: Props, state: Props) -> ReadResult | None:
        """The job as Nomad has it, with the jobspec it was last submitted with."""
        importing = not inputs and not state
        job_id, namespace = import_identity(id) if importing else (id, str(state.get("namespace") or "default"))
        # As with the official plugin, an import leaves the flags unset: the next run sets them.
        kept = {} if importing else pick(state, FIELDS)
        job = self._find(job_id, namespace)
        if job is None:
            return None
        outputs = kept | self._outputs(ctx, job, kept) | pick(state, ("deploymentId", "deploymentStatus"))
        outputs |= job_submission(ctx, self._api, job, kept)
        given = pick(outputs, FIELDS) if importing else refreshed_inputs(inputs, outputs)
        return ReadResult(job_id, given, outputs)

    def delete(self, ctx: Context, id: str, state: Props) -> None:
        """Deregisters the job and returns; its allocations stop afterwards."""
        if state.get("deregisterOnDestroy") is False:
            ctx.log("info", f"job {id} stays registered: deregisterOnDestroy is false")
            return
        purge = "true" if state.get("purgeOnDestroy") else "false"
        namespace = state.get("namespace") or "default"
        unless_gone("error deregistering job", lambda: self._api.delete(job_path(id), purge=purge, namespace=namespace))

    def _planned(self, inputs: Props) -> Props:
        source = JobSource.from_inputs(inputs)
        unknown = dict.fromkeys([*_JOBSPEC_SIDE, *_SERVER_SIDE], UNKNOWN)
        return unknown if source is None else unknown | planned_outputs(self._parser.parse(source))

    def _text_changed(self, old: Props, source: JobSource) -> bool:
        if old.get("jobspec") == source.text:
            return False
        before = JobSource(old.get("jobspec") or "", source.is_json, source.allow_fs, source.variables)
        try:
            return not same_job(self._parser.parse(before), self._parser.parse(source))
        except JobspecError:
            self._parser.parse(source)  # only a new jobspec that does not parse is an error
            return True

    def _require_same_index(self, ctx: Context, old: Props, new: Props, job: Job) -> None:
        """Refuses to overwrite a job that someone else changed since the state was last refreshed."""
        namespace = job.get("Namespace") or "default"
        body = {"Job": job | {"Namespace": namespace}, "Diff": False, "PolicyOverride": bool(new.get("policyOverride"))}
        try:
            plan = self._api.put(job_path(job["ID"], "/plan"), body, timeout_s=10, namespace=namespace)
        except ProviderError as error:
            ctx.log("debug", f"failed to validate Nomad plan: {error}")
            return
        try:
            expected = int(old.get("modifyIndex") or "")
        except ValueError:
            raise ProviderError(
                f"invalid modify_index in state: {old.get('modifyIndex')!r}: run pulumi refresh"
            ) from None
        if (plan or {}).get("JobModifyIndex") != expected:
            raise ProviderError(
                f"job modify index has changed since last refresh: someone else registered {job['ID']}. "
                "Run pulumi refresh, look at what changed, and try again"
            )

    def _register(self, ctx: Context, inputs: Props) -> tuple[str, Props]:
        source = JobSource.from_inputs(inputs)
        if source is None:
            raise ProviderError("the jobspec is still unknown")
        job = self._parser.parse(source)
        job_id, namespace = str(job["ID"]), str(job.get("Namespace") or "default")
        body = {
            "Job": job | {"Namespace": namespace},
            "Submission": submission(source),
            "PolicyOverride": bool(inputs.get("policyOverride")),
            "PreserveCounts": bool(inputs.get("preserveCounts")),
        }
        with told("error applying jobspec"):
            response = self._api.put("jobs", body, namespace=namespace)
        given: Props = plain(inputs)
        deployment: Props = {}
        try:
            if inputs.get("detach") is False and response.get("EvalID"):
                deployment = self._monitor(ctx, job_id, response["EvalID"], namespace)
            outputs = self._current(ctx, job_id, namespace, given)
        except ProviderError as error:
            outputs = self._outputs_after_failure(ctx, job, namespace, given, response)
            raise InitFailed(job_id, outputs, [str(error)], inputs) from None
        return job_id, outputs | deployment

    def _monitor(self, ctx: Context, job_id: str, eval_id: str, namespace: str) -> Props:
        """Waits for the evaluation and for the deployment it starts; each has the whole timeout."""
        budget_s = ctx.timeout_s or _DEFAULT_WAIT_S
        with told(f"error waiting for job '{job_id}' to schedule/deploy successfully"):
            evaluation = wait_for_evaluation(ctx, self._api, eval_id, namespace, budget_s)
            deployment_id = evaluation.get("DeploymentID")
            if not deployment_id:
                return {"deploymentId": "", "deploymentStatus": ""}
            deployment = wait_for_deployment(ctx, self._api, deployment_id, namespace, budget_s)
        return {"deploymentId": deployment["ID"], "deploymentStatus": deployment["Status"]}

    def _outputs_after_failure(self, ctx: Context, job: Job, namespace: str, given: Props, response: Props) -> Props:
        """As much as is known of a job that is registered but did not deploy."""
        try:
            return self._current(ctx, str(job["ID"]), namespace, given)
        except ProviderError:
            index = str(response.get("JobModifyIndex") or 0)
            return given | described_outputs(job) | {"modifyIndex": index}

    def _current(self, ctx: Context, job_id: str, namespace: str, given: Props) -> Props:
        job = self._find(job_id, namespace)
        if job is None:
            raise ProviderError(f"job {job_id} disappeared from namespace {namespace} right after it was registered")
        return given | self._outputs(ctx, job, given)

    def _find(self, job_id: str, namespace: str) -> Job | None:
        found: Job | None = unless_gone(
            "error checking for job", lambda: self._api.get(job_path(job_id), namespace=namespace)
        )
        return found

    def _outputs(self, ctx: Context, job: Job, given: Props) -> Props:
        allocations = job_allocations(ctx, self._api, job) if given.get("readAllocationIds") else []
        flag = bool(given.get("readAllocationIds"))
        return registered_outputs(job) | {"allocationIds": allocations, "readAllocationIds": flag}


def _new_identity(id: str, old: Props, new: Props, job: Job) -> str:
    """The output that shows the job to be another one, so that it has to be replaced; empty otherwise."""
    if (old.get("namespace") or "default") != (job.get("Namespace") or "default"):
        return "namespace"
    return "name" if job["ID"] != id and new.get("deregisterOnIdChange") is not False else ""
