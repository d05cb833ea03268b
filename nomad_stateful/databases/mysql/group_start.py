"""Which member may begin a replication group again whose members were all stopped.

A stopped member has what it has executed, and what it has received and not yet executed: its relay log survives. No
member knows whether another one has more, so each has to answer.
https://dev.mysql.com/doc/refman/9.7/en/group-replication-restarting-group.html
"""

from __future__ import annotations

from collections.abc import Mapping
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


def first_member(members: Mapping[str, MemberTransactions | None]) -> str:
    """Returns the member that has all transactions of all; of several, the one with the fewest left to execute.

    A member that did not answer is None. With one missing nobody begins: it may have acknowledged transactions
    together with another that has lost them since.

    Raises:
        GroupStartError: a member did not answer, or none has everything.
    """
    answers = {name: said for name, said in members.items() if said is not None}
    silent = [name for name in members if name not in answers]
    if silent or not answers:
        raise GroupStartError(
            f"{' and '.join(silent) or 'No member'} did not answer, and may have transactions that no other has: the "
            f"group begins only when all members answered. {_counts(answers)}"
        )
    everything = reduce(or_, (said.held for said in answers.values()))
    complete = [name for name, said in answers.items() if said.held == everything]
    if not complete:
        raise GroupStartError(
            f"No member has the transactions of all: {_apart(answers)}. Beginning with one loses the others' own; "
            "decide which, and discard the rest"
        )
    return min(complete, key=lambda name: len(everything - answers[name].executed))


def _counts(answers: Mapping[str, MemberTransactions]) -> str:
    return ", ".join(f"{name} has {len(said.held)} transactions" for name, said in answers.items())


def _apart(answers: Mapping[str, MemberTransactions]) -> str:
    """Says what each has that another lacks."""
    shared = reduce(lambda some, others: some & others, (said.held for said in answers.values()))
    return "; ".join(f"{name} alone or with another {said.held - shared}" for name, said in answers.items())
