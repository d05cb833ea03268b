"""What there is to do where nobody of a replication group can write: what each member has, and how one is given up."""

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import reduce
from operator import or_
from shlex import quote

from nomad_stateful.databases.mysql.group_start import (
    GroupStartError,
    MemberTransactions,
    first_member,
    shares,
)
from nomad_stateful.databases.mysql.gtids import GtidSet
from nomad_stateful.nomad.commands import scope
from nomad_stateful.nomad.group_members import MemberState
from nomad_stateful.nomad.group_record import Decision, GroupRecord
from nomad_stateful.operate.stack import DatabaseOutputs, Member
from nomad_stateful.recovery.plan import RecoveryPlan, Step

_EMPTY = "its new volume is empty, and counts as an answer"


def recovery_plan(
    server: DatabaseOutputs,
    found: Sequence[MemberState],
    volume_ids: Mapping[str, str],
    record: GroupRecord,
    serves: Callable[[], bool],
) -> RecoveryPlan | None:
    """Returns what is wrong and the steps, all of them by hand; None where a member is the primary, and writes.

    `record` says who begins the group, `serves` whether a router leads to a primary. Raises NomadError, ProviderError.
    """
    primary = next((one for one in found if one.is_primary), None)
    mute = {one.job for one in found if one.silent}
    if not found or (primary and not primary.problem) or (mute and serves()):
        return None
    held = {one.job: _transactions(one) for one in found if one.state}
    writes = "nobody that answers can write" if mute else "nobody can write"
    problem = "; ".join([f"{writes}: {', '.join(map(str, found))}", *shares(held)])
    if primary and primary.at:
        at = f"{scope(server.namespace)} {primary.at.allocation_id[:8]}"
        return RecoveryPlan(problem, list(_not_writing(primary, at)))
    silent = [own for own in server.members if own.job not in held]
    decided = None if any(one.began is not False for one in found if one.state) else record.read()
    begins = decided.first if decided else ""
    try:
        first = first_member(held, begins)
    except GroupStartError:
        steps = list(_silent(server, silent, mute, "", volume_ids))
        if not mute:
            steps += _apart(server, held, volume_ids, begins)
        if decided and not silent:
            steps += _another_begins(record, decided, held)
    else:
        why = f"all members answer, and {first} has everything: their agents begin the group by themselves"
        waits = [Step("by-hand", first, "nomad-stateful status --watch", why)]
        steps = list(_silent(server, silent, mute, first, volume_ids)) or waits
    return RecoveryPlan(problem, steps)


def _not_writing(primary: MemberState, at: str) -> Iterator[Step]:
    """Yields what there is to do about a primary that takes no writes, though the group goes on."""
    why = "says why: a server whose disk is full is ended in ten seconds, and another member goes on by itself"
    yield Step("by-hand", primary.job, f"nomad alloc logs -stderr -task group{at}", why)
    why = "where it stays so: it hands over to another member first. Not while one of these is away"
    yield Step("by-hand", primary.job, f"nomad alloc restart{at}", why)


def _another_begins(record: GroupRecord, decided: Decision, held: Mapping[str, MemberTransactions]) -> Iterator[Step]:
    """Yields how the one with everything begins a group that never was, in the place of the one that is to."""
    with suppress(GroupStartError):
        first = first_member(held)
        why = (
            f"the group never was, its agents wait for {decided.first} to begin it, which this variable names, and "
            f"{first} has what that one lacks: with this {first} begins, and nothing is given up"
        )
        put = f"nomad var put -force -namespace {record.namespace} {record.path}"
        yield Step("by-hand", first, f"{put} first={first} group={decided.group_id} && pulumi up", why)


def _transactions(state: MemberState) -> MemberTransactions:
    return MemberTransactions(GtidSet.parse(state.executed), GtidSet.parse(state.received))


def _silent(
    server: DatabaseOutputs, silent: Sequence[Member], mute: Container[str], first: str, volume_ids: Mapping[str, str]
) -> Iterator[Step]:
    """Yields how members that do not answer are brought back, then how those are given up that certainly do not run."""
    for own in silent:
        why = "says why it does not answer: with its volume back the agents elect, or begin the group, by themselves"
        if own.job in mute:
            why = (
                "says why it does not answer. It may run, and write with others: run this where the clients can be "
                "reached. How it is given up is said once its job is stopped, or Nomad has its client for lost"
            )
        yield Step("by-hand", own.job, f"nomad-stateful explain {own.job}", why)
    for own in (one for one in silent if one.job not in mute):
        why = (
            "only if it never comes back with its volume: this gives up what it alone has, which may be rows that "
            f"were acknowledged. {_EMPTY[0].upper()}{_EMPTY[1:]}"
        )
        begins = f": once all have answered, {first} begins with what it has" if first else ""
        yield from _giving_up(server, own, volume_ids, f"{why}{begins}")


def _apart(
    server: DatabaseOutputs, held: Mapping[str, MemberTransactions], volume_ids: Mapping[str, str], begins: str
) -> Iterator[Step]:
    """Yields how each is given up that has transactions which no other has: none of them has those of all.

    Of a group that never was: that has some which the one lacks that is to begin it.
    """
    for own in server.members:
        if own.job not in held or own.job == begins:
            continue
        others = (one.held for job, one in held.items() if job == begins or (job != own.job and begins not in held))
        if alone := held[own.job].held - reduce(or_, others, GtidSet()):
            other = f"it could not join where {begins} begins" if begins else "the other way is to give up the others"
            why = f"{other}: this gives up {len(alone)} transactions ({alone}). {_EMPTY}"
            yield from _giving_up(server, own, volume_ids, why)


def _giving_up(server: DatabaseOutputs, own: Member, volume_ids: Mapping[str, str], why: str) -> Iterator[Step]:
    """Yields the commands that give a member a new volume: `up` makes it where EC2 has the old one no more."""
    volume_id = volume_ids.get(own.volume) or f"VOLUME_OF_{own.volume}"
    keeps = "where the volume can still be read: keeps what it has, before the next step"
    yield Step("by-hand", own.job, f"nomad-stateful snapshot {quote(own.volume)}", keeps)
    commands = (
        f"nomad job stop -namespace {server.namespace} {own.job}",
        f"aws ec2 wait volume-available --volume-ids {volume_id}",
        f"aws ec2 delete-volume --volume-id {volume_id}",
        "pulumi up --refresh",
    )
    gone = "Where EC2 has the volume no more, without the commands of aws"
    yield Step("by-hand", own.job, " && ".join(commands), f"{why}. {gone}")
