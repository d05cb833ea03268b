"""What a member that is in no group does next: join, begin, or wait.

All agents decide by the same rule, from the same answers, so all name the same member. That alone would not keep two
from beginning: one may be paused, and act on answers that are old. Whoever starts replication on a server therefore
holds a lock of that server for as long as START runs, and whoever begins holds those of all members and asks them once
more meanwhile (member.py). While all are locked and OFFLINE there is no group, and none comes to be but by the holder:
another one that begins needs the lock of this one's own server, which the very session has that starts replication. A
session that idles, or whose server ended, has lost its lock, and cannot start anything any more. A member that does not
answer cannot be locked, so nobody begins without it. An empty volume, or an older one, never begins where another
member has more: it joins, and takes the rest from the others.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Literal

from nomad_stateful.databases.mysql.group_start import GroupStartError, MemberTransactions, first_member
from nomad_stateful.databases.mysql.gtids import GtidSet

_LAST_NUMBER = (1 << 63) - 2
_OUTSIDE = frozenset({"OFFLINE", "ERROR"})


@dataclass(frozen=True)
class Answer:
    """What a member's server said of itself."""

    server_id: str
    """Its UUID."""
    group_id: str
    """Of the group that it is configured for."""
    state: str
    """ONLINE, RECOVERING, ERROR or OFFLINE."""
    role: str
    """PRIMARY or SECONDARY; empty where it is in no group."""
    read_only: bool
    offline_mode: bool
    members: int
    """In its view of the group."""
    reachable: int
    """Of them."""
    online: int
    """Of them again, those that are ONLINE."""
    transactions: MemberTransactions
    view: frozenset[str] = frozenset()
    """Names of the members in its view of the group, reachable or not."""

    @property
    def has_majority(self) -> bool:
        """Whether it sees more than half of its group."""
        return 2 * self.reachable > self.members

    @property
    def is_online(self) -> bool:
        """Whether it is in a group that can go on."""
        return self.state == "ONLINE" and self.has_majority

    @property
    def was_in_group(self) -> bool:
        """Whether it has a transaction of its group, which has begun then."""
        everything = GtidSet.parse(f"{self.group_id}:1-{_LAST_NUMBER}")
        return bool(self.transactions.held & everything)


@dataclass(frozen=True)
class Group:
    """What a member is told of its group."""

    group_id: str
    own: str
    """The member's name."""
    first: str
    """The member that begins a group that never was."""
    members: Mapping[str, int]
    """All members' ports by their names."""

    @property
    def peers(self) -> tuple[str, ...]:
        """The other members, in the order of their names."""
        return tuple(sorted(name for name in self.members if name != self.own))


@dataclass(frozen=True)
class Step:
    """What a member does next."""

    kind: Literal["join", "begin", "wait"]
    why: str


def next_step(group: Group, answers: Mapping[str, Answer | str]) -> Step:
    """Returns what the member does that is OFFLINE itself; in the place of an answer is why there is none."""
    said = {name: answer for name, answer in sorted(answers.items()) if isinstance(answer, Answer)}
    for name, answer in said.items():
        if answer.group_id != group.group_id:
            return Step("wait", f"{name} is configured for the group {answer.group_id}, not {group.group_id}")
    for name in group.peers:
        if name in said and said[name].is_online:
            turn = _former_self(group, name, said[name]) or _turn(group, said)
            return Step("wait", turn) if turn else Step("join", f"{name} is in the group")
    silent = [f"{name} ({answers.get(name, 'was not asked')})" for name in group.members if name not in said]
    if silent:
        return Step("wait", f"nobody is in the group, and it begins only when all have answered: {', '.join(silent)}")
    try:
        beginner = _beginner(group, said)
    except GroupStartError as error:
        return Step("wait", str(error))
    return Step("begin" if beginner == group.own else "wait", f"{beginner} begins the group")


def _former_self(group: Group, name: str, answer: Answer) -> str:
    """Returns that the group is still to expel the member as it was before it started again; "" where it has.

    Who asks to join meanwhile is refused, and taken for the former one that is back: it is not expelled then, and two
    members that have just found each other again were seen to agree on nothing for minutes.
    """
    return (
        f"{name} has this member in its view, as it was before, and expels it first" if group.own in answer.view else ""
    )


def _turn(group: Group, said: Mapping[str, Answer]) -> str:
    """Returns which other member joins first, where this one copies all of a member: one can be copied once at a time.

    A second copy fails, and the server goes on to ask for logs that there are none of, ten times, a minute apart.
    """
    if group.own not in said or said[group.own].was_in_group:
        return ""
    for name in group.peers:
        other = said.get(name)
        if other is None or (other.state == "OFFLINE" and (name > group.own or other.was_in_group)):
            continue
        if other.state in {"OFFLINE", "RECOVERING"}:
            return f"{name} joins first"
    return ""


def left_alone(group: Group, own: Answer, peers: Mapping[str, Answer | str]) -> Literal["start again", "go on", ""]:
    """Returns what a member does that is ONLINE or RECOVERING without a majority; "" is to wait.

    Where every peer answers that it is in no group, no majority comes back by itself: it starts again, and the one with
    everything begins. Where a peer does not answer that the group had expelled before, an ONLINE member goes on alone,
    if it has all that the others of its view have, and these are in no group: the one that is away can have no
    majority, and nothing was acknowledged there since. A peer of its view that cannot be reached may have its own part
    of this group, or rows that this member lacks.
    """
    outside = {
        name: one
        for name, one in peers.items()
        if isinstance(one, Answer) and one.group_id == group.group_id and one.state in _OUTSIDE
    }
    if outside.keys() == set(group.peers):
        return "start again"
    others = own.view - {group.own}
    if own.state != "ONLINE" or not others or not others <= outside.keys():
        return ""
    lacks = reduce(or_, (one.transactions.held for one in outside.values())) - own.transactions.held
    return "" if lacks else "go on"


def _state(answer: Answer) -> str:
    in_group = answer.state not in _OUTSIDE
    return f"{answer.state} without a majority" if in_group and not answer.has_majority else answer.state


def _beginner(group: Group, said: Mapping[str, Answer]) -> str:
    """Returns who begins once all have answered. Raises GroupStartError."""
    active = [f"{name} is {_state(answer)}" for name, answer in said.items() if answer.state != "OFFLINE"]
    if active:
        raise GroupStartError(f"{' and '.join(active)}: the group begins only when all are OFFLINE")
    if len({answer.server_id for answer in said.values()}) < len(group.members):
        raise GroupStartError("two members' names lead to one server, or their data directories have one auto.cnf")
    held = {name: answer.transactions for name, answer in said.items()}
    return first_member(held, "" if any(answer.was_in_group for answer in said.values()) else group.first)
