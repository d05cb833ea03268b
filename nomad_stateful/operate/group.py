"""The stack's database where it is a replication group: how its members are, and what no command does to it."""

from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

from nomad_stateful.databases.catalogue import DATABASES
from nomad_stateful.nomad import group_members
from nomad_stateful.nomad.api import NomadApi, NomadError
from nomad_stateful.nomad.consumer_job import ConsumerJob
from nomad_stateful.nomad.group_members import MemberState, ask
from nomad_stateful.nomad.running_job import allocations, checks, is_running
from nomad_stateful.operate import stack
from nomad_stateful.operate.errors import OperateError
from nomad_stateful.operate.stack import DatabaseOutputs


def states(nomad: NomadApi, server: DatabaseOutputs) -> list[MemberState]:
    """Returns what each member says, or why it cannot be asked."""
    asked = _asked(nomad, server.namespace, [one.job for one in server.members], server.kind.name)
    return [replace(state, zone=one.zone) for state, one in zip(asked, server.members, strict=True)]


def _asked(nomad: NomadApi, namespace: str, jobs: Sequence[str], group: str) -> list[MemberState]:
    with ThreadPoolExecutor(max(1, len(jobs))) as pool:
        return list(pool.map(lambda job: ask(nomad, namespace, job, group), jobs))


def problems(found: Sequence[MemberState]) -> Iterator[tuple[str, str]]:
    """Yields what is wrong with a group: of which member, and what; "" for what is of all of them."""
    for one in found:
        if one.problem:
            yield one.job, one.problem
    online, primaries = sum(one.is_online for one in found), [one.job for one in found if one.is_primary]
    if found and online < len(found):
        yield "", f"of {len(found)} members {online} are ONLINE"
    if found and not primaries:
        mute = any(one.silent for one in found)
        yield "", "no member that answers is the primary" if mute else "no member is the primary: nobody can write"
    if len(primaries) > 1:
        yield "", f"there are {len(primaries)} primaries: {', '.join(primaries)}"


@dataclass(frozen=True)
class Router:
    """A router that runs."""

    allocation_id: str
    client: str
    passes: bool | None
    """Whether it leads to a primary, by its check; None where that cannot be read."""
    why: str = ""
    """Why not."""


def routers(nomad: NomadApi, server: DatabaseOutputs) -> Iterator[Router]:
    """Yields the routers by Nomad's checks, none where the checks of services are Consul's. Raises NomadError."""
    if not server.members:
        return
    for stub in filter(is_running, allocations(nomad, server.job, server.namespace)):
        found = partial(Router, str(stub["ID"]), str(stub["NodeName"]))
        try:
            known = checks(nomad, stub, server.namespace)
        except NomadError as error:
            yield found(None, " ".join(str(error).split()))
            continue
        if known:
            why = next(filter(None, known.values()), "")
            yield found(passes=not why, why=why)


def primary(nomad: NomadApi, server: DatabaseOutputs) -> str:
    """Returns the job of the server that writes. Raises OperateError where a group has no primary, or two."""
    if not server.members:
        return server.job
    found = states(nomad, server)
    names = [one.job for one in found if one.is_primary]
    if len(names) == 1:
        return names[0]
    said = "; ".join(what for _, what in problems(found))
    raise OperateError(
        f"the group {server.service} has {len(names)} primaries ({said}): `nomad-stateful doctor` says more"
    )


def others_away(nomad: NomadApi, namespace: str, job: str) -> str:
    """Returns who of a job's group is away, or does not say, so that this member has to stay; "" if nobody.

    By the job itself: a member may be of another stack, or of one whose last `up` failed. Raises NomadError.
    """
    member = group_members.of_job(ConsumerJob(nomad, namespace, job).read() or {})
    if member is None:
        return ""
    found = _asked(nomad, namespace, member.jobs, member.name)
    away = group_members.missing(nomad, namespace, member, job, found)
    return "; ".join(map(str, found)) if away is None else away


@dataclass(frozen=True)
class _Refusal:
    """What a command does not do to a group."""

    asked: Callable[[Namespace], bool]
    """Whether the arguments ask for it."""
    why: str
    remedy: str
    of_volume: bool = False
    """Whether it is about the named volume, where that is a member's."""

    def concerns(self, known: Namespace, server: DatabaseOutputs) -> bool:
        """Whether what is asked for would be done to this group."""
        volumes = [one.volume for one in server.members]
        return bool(volumes) and (
            not self.of_volume or known.volume in {*volumes, *(one.partition("[")[0] for one in volumes)}
        )


_ZONE = _Refusal(
    lambda known: bool(known.volume),
    "each member stays in the zone of its own volume",
    "Leave it there: the group goes on with two members, and the third joins again when a client of its zone runs it",
    of_volume=True,
)
_UPGRADE = _Refusal(
    lambda _: True,
    "this command upgrades a single server",
    "Take a snapshot of each member's volume, set {name}.image, and run `pulumi up`: members get it one by one",
)
_QUIESCE = _Refusal(
    lambda known: bool(known.quiesce),
    "the lock is of one server's session, and the primary may change meanwhile",
    "Omit --quiesce: a member recovers from a crash-consistent snapshot",
)
REFUSED: dict[str, _Refusal] = {
    "move": _ZONE,
    "failover": _ZONE,
    "snapshot": _QUIESCE,
    **{f"upgrade-{name}": _UPGRADE for name in DATABASES},
}
"""By command. What is not asked for in such a way works on a group as on a single server."""


def refuse(command: str, known: Namespace) -> None:
    """Raises OperateError where a command would do to the stack's group what is for a single server."""
    refusal = REFUSED.get(command)
    if refusal is None or not refusal.asked(known):
        return
    server = stack.database()
    if server is None or not refusal.concerns(known, server):
        return
    name = server.kind.name
    raise OperateError(
        f"{name}.group is set, and {refusal.why}, so `nomad-stateful {command}` does not do that. Nothing was changed. "
        f"{refusal.remedy.format(name=name)}"
    )
