"""ReplicationGroup: who begins a database's replication group, decided once, and its end in a single server."""

import uuid
from collections.abc import Callable
from functools import partial

from nomad_stateful.databases.mysql.gtids import GtidSet
from nomad_stateful.errors import ProviderError
from nomad_stateful.nomad import group_members
from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.consumer_job import ConsumerJob
from nomad_stateful.nomad.group_members import OFFLINE, MemberState
from nomad_stateful.nomad.group_record import Decision, GroupRecord
from nomad_stateful.nomad.running_job import ENDED, LIVE, allocations
from nomad_stateful.plugin_server.diffing import Kind
from nomad_stateful.plugin_server.plugin import Diff, Props, input_diff
from nomad_stateful.provider.declared import DeclaredResource
from nomad_stateful.schema.jobs import ReplicationGroupProperties
from nomad_stateful.waiting import Context, Pending, Progress

_LOOK_EVERY_S = 1.0
_NONE = {"first": "", "groupId": ""}


class ReplicationGroup(DeclaredResource):
    """Decides in create; a decision whose variable is lost is written again as the state has it.

    Another candidate changes nothing: the group has begun, or may have. One that is dissolved is over once the
    candidate's job has ended: where it is to be a group again, that is another one.
    """

    table = ReplicationGroupProperties.table
    why_no_import = "it is nothing without its members"

    def __init__(
        self,
        api: Callable[[], NomadApi],
        ask: Callable[[NomadApi, str, str, str], MemberState] = group_members.ask,
    ) -> None:
        self._api = api
        self._ask = ask

    def diff(self, ctx: Context, id: str, state: Props, old_inputs: Props, news: Props) -> Diff:
        detailed = input_diff(old_inputs, news, self.replace_on)
        if not detailed and not news["dissolved"]:
            found = self._record(state).read()
            # Another member that is to begin the same group: an operator's choice (`nomad-stateful recover`).
            if found is None or (found.group_id == state["groupId"] and found.first != state["first"]):
                detailed["candidate"] = Kind.UPDATE
        return Diff(detailed)

    def create(self, ctx: Context, inputs: Props) -> tuple[str, Props]:
        return f"{inputs['namespace']}/{inputs['jobId']}", self._begun_or_dissolved(ctx, inputs)

    def update(self, ctx: Context, id: str, state: Props, old_inputs: Props, inputs: Props) -> Props:
        if inputs["dissolved"] or not state["groupId"]:
            return self._begun_or_dissolved(ctx, inputs)
        own = Decision(state["first"], state["groupId"])
        found = self._record(inputs).decide(own)
        if found.group_id != own.group_id:
            raise ProviderError(
                f"The variable {self._record(inputs).path} says that {found.first} begins the group {found.group_id} "
                f"of {inputs['jobId']}, and this stack's state says {own.first} and {own.group_id}: one of them is of "
                "another group. The members' volumes have the id of theirs (table nomad_stateful.replication_group): "
                "write that one"
            )
        return inputs | _outputs(found)

    def delete(self, ctx: Context, id: str, state: Props) -> None:
        record = self._record(state)
        if (found := record.read()) is not None and found.group_id == state["groupId"]:
            record.forget(found)

    def _begun_or_dissolved(self, ctx: Context, inputs: Props) -> Props:
        if inputs["dissolved"]:
            self._dissolve(ctx, inputs)
            return inputs | _NONE
        # One that was dissolved, and not ended, goes on: its members have its id.
        runs = group_members.of_job(self._job(inputs, inputs["candidate"]).read() or {})
        own = Decision(runs.first, runs.group_id) if runs else Decision(inputs["candidate"], str(uuid.uuid4()))
        return inputs | _outputs(self._record(inputs).decide(own))

    def _dissolve(self, ctx: Context, inputs: Props) -> None:
        """Stops the other members, one by one, while clients write on, and waits until the candidate has every row.

        Whoever leaves hands over first, so that the candidate is the primary at last; it takes writes only once it has
        executed what it received. Of a group that never began the candidate has every row as it is. Raises
        ProviderError where it does not come to that; what was stopped stays so.
        """
        record = self._record(inputs)
        others = [self._job(inputs, job) for job in inputs["others"]]
        decided = record.read()
        if decided is None and not any(map(_may_run, others)):
            return
        progress = Progress(ctx, ctx.timeout_s or inputs["timeoutS"])
        self._await(progress, inputs, partial(self._not_begun_with_all, inputs, others))
        for job in others:
            if not _is_stopped(job):
                job.stop(ctx, f"{inputs['candidate']} goes on as a single server")
            self._await(progress, inputs, partial(self._not_ended, inputs, job))
        self._await(progress, inputs, partial(self._not_alone, inputs))
        if decided is not None:
            record.forget(decided)

    def _await(self, progress: Progress, inputs: Props, lacks: Callable[[], str]) -> None:
        def look() -> Pending | None:
            why = progress.ctx.call(lacks)
            return Pending(f"waiting until {inputs['candidate']} has every row, alone: {why}") if why else None

        if isinstance(pending := progress.wait(look, _LOOK_EVERY_S), Pending):
            api, namespace, group = self._api(), inputs["namespace"], inputs["memberGroup"]
            names = [inputs["candidate"], *inputs["others"]]
            writes = [one for one in names if self._ask(api, namespace, one, group).is_primary]
            raise ProviderError(
                f"The group of {inputs['jobId']} is not dissolved within {progress.limit_s:.0f} s: {pending}. No row "
                f"is lost; {f'{writes[0]} takes writes' if writes else 'no member says that it takes writes'}. See "
                "`nomad-stateful status`; this machine has to reach the members' agents. Then run the same command "
                "again. Or set group again and run `pulumi up --refresh`: without it, members that were stopped stay so"
            )

    def _not_begun_with_all(self, inputs: Props, others: list[ConsumerJob]) -> str:
        """Returns why the candidate is no member in order, nor of a group that never began, with every row."""
        first = self._member(inputs)
        if not first.never_began:
            return first.problem
        for job in others:
            other = self._member(inputs, job.job_id)
            if not other.state:
                # An empty volume may be in the place of one that was in the group.
                if first.executed or _is_stopped(job) or not allocations(job.api, job.job_id, job.namespace):
                    continue
                return f"{first}, it has no transaction, and {other}"
            if not other.never_began:
                return f"{first}, and {other}: that one may have been in the group"
            if missing := _held(other) - _held(first):
                return f"{first}, and lacks transactions that {other.job} has: {missing}"
        return ""

    def _not_ended(self, inputs: Props, job: ConsumerJob) -> str:
        if found := _live(job):
            return f"{job.job_id} ends on {', '.join(found)}"
        member = self._member(inputs)
        return "" if member.never_began else member.problem

    def _not_alone(self, inputs: Props) -> str:
        member = self._member(inputs)
        if member.problem:
            return "" if member.never_began else member.problem
        if not member.is_primary or len(member.view) > 1:
            return f"it is {member.role} and sees {', '.join(member.view)}"
        return f"it has not executed {member.unapplied} yet" if member.unapplied else ""

    def _member(self, inputs: Props, name: str = "") -> MemberState:
        """Asks a member, or the candidate. A candidate without a job is the volume of the server before the group."""
        job = self._job(inputs, name or inputs["candidate"])
        said = self._ask(job.api, job.namespace, job.job_id, inputs["memberGroup"])
        if said.at is None and not said.state and job.job_id == inputs["candidate"] and job.read() is None:
            return MemberState(job.job_id, state=OFFLINE, began=False, why="there is no such job")
        return said

    def _job(self, inputs: Props, name: str) -> ConsumerJob:
        return ConsumerJob(self._api(), inputs["namespace"], name)

    def _record(self, props: Props) -> GroupRecord:
        return GroupRecord(self._api(), props["namespace"], props["jobId"])


def _outputs(decided: Decision) -> Props:
    return {"first": decided.first, "groupId": decided.group_id}


def _held(member: MemberState) -> GtidSet:
    return GtidSet.parse(member.executed) | GtidSet.parse(member.received)


def _is_stopped(job: ConsumerJob) -> bool:
    return bool((job.read() or {"Stop": True}).get("Stop"))


def _live(job: ConsumerJob) -> list[str]:
    """Returns where allocations of a job run that its client has not said to have ended."""
    stubs = allocations(job.api, job.job_id, job.namespace)
    return [str(stub["NodeName"]) for stub in stubs if stub["ClientStatus"] in LIVE]


def _may_run(job: ConsumerJob) -> bool:
    """Returns whether a job runs, or Nomad does not hear of it, which may be so for ever once it is stopped."""
    stubs = allocations(job.api, job.job_id, job.namespace)
    return any(stub["ClientStatus"] not in ENDED for stub in stubs)
