"""A stopped group is begun by a member that has everything, once all members have said what they have."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nomad_stateful.databases.mysql.group_start import (
    GroupStartError,
    MemberTransactions,
    first_member,
)
from nomad_stateful.databases.mysql.gtids import Gtid, GtidSet, GtidSetBuilder, Origin

GROUP, LOCAL = "a1a1a1a1-0000-4000-8000-00000000000a", "3e11fa47-71ca-11e1-9e33-c80aa9429562"
ORIGIN = Origin(uuid.UUID(GROUP))


def has(executed: str, received: str = "") -> MemberTransactions:
    def gtids(numbers: str) -> GtidSet:
        return GtidSet.parse(f"{GROUP}:{numbers}" if numbers else "")

    return MemberTransactions(gtids(executed), gtids(received))


def test_the_member_with_everything_begins() -> None:
    assert first_member({"member-1": has("1-10"), "member-2": has("1-12"), "member-3": has("1-11")}) == "member-2"


def test_what_was_received_and_not_executed_counts() -> None:
    assert (
        first_member({"member-1": has("1-10"), "member-2": has("1-5", "4-12"), "member-3": has("1-11")}) == "member-2"
    )


def test_of_several_that_have_everything_the_one_with_least_to_execute_begins() -> None:
    equal = {"member-1": has("1-5", "6-12"), "member-2": has("1-11", "12"), "member-3": has("1-10", "11-12")}
    assert first_member(equal) == "member-2"
    assert first_member({name: has("1-12") for name in equal}) == "member-1"


def test_with_a_member_missing_nobody_begins() -> None:
    """It may have acknowledged with another one, which has lost that since."""
    with pytest.raises(
        GroupStartError,
        match=r"^member-3 did not answer, .* member-1 has 12 transactions; member-2 has 10 .* lacks 2: ",
    ):
        first_member({"member-1": has("1-12"), "member-2": has("1-10"), "member-3": None})
    with pytest.raises(GroupStartError, match=r"^member-1 and member-2 and member-3 did not answer"):
        first_member({"member-1": None, "member-2": None, "member-3": None})


def test_where_each_has_what_another_lacks_nobody_begins() -> None:
    """As after writes to a member that was not in the group."""
    own = MemberTransactions(GtidSet.parse(f"{GROUP}:1-9,{LOCAL}:1-2"), GtidSet())
    with pytest.raises(GroupStartError) as refusal:
        first_member({"member-1": has("1-10"), "member-2": own, "member-3": has("1-9")})
    assert f"member-1 has 10 transactions, and lacks 2: {LOCAL}:1-2" in str(refusal.value)
    assert f"member-2 has 11 transactions, and lacks 1: {GROUP}:10" in str(refusal.value)


def test_a_group_that_never_was_is_begun_by_the_one_that_is_to() -> None:
    assert first_member({"member-1": has("1-9"), "member-2": has("1-9"), "member-3": has("")}, "member-2") == "member-2"
    assert first_member({"member-1": has(""), "member-2": has("")}, "member-3") == "member-3"
    for without in ({"member-1": has("1-8")}, {}):
        with pytest.raises(GroupStartError, match=r"^member-1 is to begin .* that another member has \(.*9\)"):
            first_member({**without, "member-2": has("9")}, "member-1")


numbers = st.frozensets(st.integers(1, 8), max_size=8)


def of(some: frozenset[int]) -> GtidSet:
    return GtidSetBuilder(Gtid(ORIGIN, number) for number in sorted(some)).build()


@given(st.tuples(*[st.tuples(numbers, numbers)] * 3))
def test_no_transaction_that_a_member_has_is_ever_lost(sets: tuple[tuple[frozenset[int], frozenset[int]], ...]) -> None:
    members: Mapping[str, MemberTransactions] = {
        f"member-{number}": MemberTransactions(of(executed), of(received))
        for number, (executed, received) in enumerate(sets, 1)
    }
    everything = frozenset().union(*(some for pair in sets for some in pair))
    try:
        chosen = sets[int(first_member(members)[-1]) - 1]
    except GroupStartError:
        assert all(executed | received != everything for executed, received in sets)
    else:
        assert chosen[0] | chosen[1] == everything


def test_the_order_of_the_answers_does_not_matter() -> None:
    some = {"member-1": has("1-10"), "member-2": has("1-5", "4-12"), "member-3": has("1-11")}
    assert {first_member(dict(order)) for order in permutations(some.items())} == {"member-2"}
