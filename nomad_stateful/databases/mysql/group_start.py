"""Which member may begin a replication group again whose members were all stopped.

A stopped member has what it has executed, and what it has received and not yet executed: its relay log survives. No
member knows whether another one has more, so each has to answer.
https://dev.mysql.com/doc/refman/9.7/en/group-replication-restarting-group.html
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_

from nomad_stateful.databases.mysql.gtids import GtidSet


class GroupStartError(Exception):
    """No member may begin the group; the text says what each has, and the rule."""


@dataclass(frozen=True)
class MemberTransactions:
    """What a member said while its group was stopped."""

    executed: GtidSet
    received: GtidSet
    """By the channel group_replication_applier. What it executed as primary, or fetched to catch up, is not in it."""

    @property
    def held(self) -> GtidSet:
        """All that the member has once it has executed what it received."""
        return self.executed | self.received


def first_member(members: Mapping[str, MemberTransactions | None], begins: str = "") -> str:
    """Returns the member that has all transactions of all; of several, the one with the fewest left to execute.

    A member that did not answer is None. With one missing nobody begins: it may have acknowledged transactions
    together with another that has lost them since. A group that never was is begun by `begins`, and by no other.

    Raises:
        GroupStartError: a member did not answer, or none has everything, or the one that begins has not.
    """
    answers = {name: said for name, said in members.items() if said is not None}
    silent = [name for name in members if name not in answers]
    if silent or not answers:
        raise GroupStartError(
            f"{' and '.join(silent) or 'No member'} did not answer, and may have transactions that no other has: the "
            f"group begins only when all members answered. {'; '.join(shares(answers))}"
        )
    everything = reduce(or_, (said.held for said in answers.values()))
    complete = [name for name, said in answers.items() if said.held == everything]
    if begins and (lacks := everything - (answers[begins].held if begins in answers else GtidSet())):
        raise GroupStartError(
            f"{begins} is to begin the group, and lacks transactions that another member has ({lacks}): that one "
            "could not join. Give that one an empty volume, or have it begin: `nomad-stateful recover` says how"
        )
    if not complete:
        raise GroupStartError(
            f"No member has the transactions of all: {'; '.join(shares(answers))}. Beginning with one loses the "
            "others' own; decide which, and discard the rest"
        )
    return begins or min(complete, key=lambda name: len(everything - answers[name].executed))


def shares(members: Mapping[str, MemberTransactions]) -> Iterator[str]:
    """Yields what each has of what all of these have."""
    everything = reduce(or_, (one.held for one in members.values()), GtidSet())
    for name, own in members.items():
        lacks = everything - own.held
        yield f"{name} has {len(own.held)} transactions{f', and lacks {len(lacks)}: {lacks}' if lacks else ''}"
