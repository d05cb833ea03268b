"""What there is to do where nobody of a replication group can write: what each member has, and how one is given up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
from nomad_stateful.nomad.group_members import MemberState
from nomad_stateful.operate.stack import DatabaseOutputs, Member
from nomad_stateful.recovery.plan import RecoveryPlan, Step

_EMPTY = "its new volume is empty, and counts as an answer"


def recovery_plan(
    server: DatabaseOutputs, found: Sequence[MemberState], volume_ids: Mapping[str, str]
) -> RecoveryPlan | None:
    """Returns what is wrong and the steps, all of them by hand; None where a member is the primary."""
    if not found or any(one.is_primary for one in found):
        return None
    held = {one.job: _transactions(one) for one in found if one.state}
    problem = "; ".join(["nobody can write: " + ", ".join(map(str, found)), *shares(held)])
    silent = [own for own in server.members if own.job not in held]
    try:
        first = first_member(held)
    except GroupStartError:
        steps = [*_silent(server, silent, "", volume_ids), *_apart(server, held, volume_ids)]
    else:
        why = f"all members answer, and {first} has everything: their agents begin the group by themselves"
        waits = [Step("by-hand", first, "nomad-stateful status --watch", why)]
        steps = list(_silent(server, silent, first, volume_ids)) or waits
    return RecoveryPlan(problem, steps)


def _transactions(state: MemberState) -> MemberTransactions:
    return MemberTransactions(GtidSet.parse(state.executed), GtidSet.parse(state.received))


def _silent(
    server: DatabaseOutputs, silent: Sequence[Member], first: str, volume_ids: Mapping[str, str]
) -> Iterator[Step]:
    """Yields how members that do not answer are brought back, then how they are given up."""
    for own in silent:
        why = "says why it does not answer: with its volume back the agents elect, or begin the group, by themselves"
        yield Step("by-hand", own.job, f"nomad-stateful explain {own.job}", why)
    for own in silent:
        why = (
            "only if it never comes back with its volume: this gives up what it alone has, which may be rows that "
            f"were acknowledged. {_EMPTY[0].upper()}{_EMPTY[1:]}"
        )
        begins = f": once all have answered, {first} begins with what it has" if first else ""
        yield Step("by-hand", own.job, _giving_up(server, own, volume_ids), f"{why}{begins}")


def _apart(
    server: DatabaseOutputs, held: Mapping[str, MemberTransactions], volume_ids: Mapping[str, str]
) -> Iterator[Step]:
    """Yields how each is given up that has transactions which no other has: none of them has those of all."""
    for own in server.members:
        others = (one.held for job, one in held.items() if job != own.job)
        if own.job in held and (alone := held[own.job].held - reduce(or_, others, GtidSet())):
            why = f"the other way is to give up the others: this gives up {len(alone)} transactions ({alone}). {_EMPTY}"
            yield Step("by-hand", own.job, _giving_up(server, own, volume_ids), why)


def _giving_up(server: DatabaseOutputs, own: Member, volume_ids: Mapping[str, str]) -> str:
    """Returns the commands that give a member a new volume: `up` makes it where EC2 has the old one no more."""
    volume_id = volume_ids.get(own.volume) or f"VOLUME_OF_{own.volume}"
    return " && ".join(
        (
            f"nomad-stateful snapshot {quote(own.volume)}",
            f"nomad job stop -namespace {server.namespace} {own.job}",
            f"aws ec2 wait volume-available --volume-ids {volume_id}",
            f"aws ec2 delete-volume --volume-id {volume_id}",
            "pulumi up --refresh",
        )
    )
