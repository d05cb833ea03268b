"""The other members of a replication group, which have to be ONLINE before one changes."""

from collections.abc import Callable

from nomad_stateful.errors import ProviderError
from nomad_stateful.nomad import group_members
from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.consumer_job import ConsumerJob
from nomad_stateful.nomad.group_members import MemberState
from nomad_stateful.waiting import Pending, Progress, Stopwatch

_POLL_S = 1.0
# How long a group may say nothing that is only slow to answer.
_MUTE_S = 10.0
Ask = Callable[[NomadApi, str, str, str], MemberState]
"""Asks a member: of which namespace and job, and the name of the job's group."""


def await_online(progress: Progress, api: NomadApi, namespace: str, job_id: str, ask: Ask) -> None:
    """Waits until the group of a job's member can do without it; of another job nobody is asked.

    Raises ProviderError at the deadline.
    """
    group = group_members.of_job(ConsumerJob(api, namespace, job_id).read() or {})
    if group is None:
        return
    asked, away = Stopwatch(), ""

    def look() -> Pending | None:
        nonlocal away
        found = progress.ctx.call(lambda: [ask(api, namespace, one, group.name) for one in group.jobs])
        known = progress.ctx.call(lambda: group_members.missing(api, namespace, group, job_id, found))
        if known is None:
            said = "; ".join(map(str, found))
            # Where one was away before, silence is no answer that it is back.
            if away or asked.seconds < _MUTE_S:
                return Pending(f"waiting until a member of its group can be asked: {said}")
            progress.ctx.log("warning", f"job {job_id} changes though no member of its group can be asked: {said}")
            return None
        away = known
        return Pending(f"waiting until the other members of its group are ONLINE: {away}") if away else None

    if isinstance(pending := progress.wait(look, _POLL_S), Pending):
        raise ProviderError(
            f"job {job_id} is left as it is after {progress.limit_s:.0f} s of {pending}. It is in a replication "
            "group, which could not write with this one away too. Bring that member back (`nomad-stateful explain` "
            "and `doctor`; docs/group.md), and run the same command again. Where the new settings are what brings "
            "it back: `pulumi up --target '**MEMBER**'`, with its job's name, changes that one alone"
        )
