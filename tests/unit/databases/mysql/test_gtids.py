"""Sets of GTIDs behave as sets of transactions do, of any servers, with tags and holes."""

from __future__ import annotations

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nomad_stateful.databases.mysql.gtids import Gtid, GtidError, GtidSet, GtidSetBuilder, Origin

A, B = "3e11fa47-71ca-11e1-9e33-c80aa9429562", "99a35885-e83b-11f1-8e64-02fc00000001"
ORIGINS = [Origin(uuid.UUID(source), tag) for source in (A, B) for tag in ("", "orders", "a")]
gtids = st.builds(Gtid, st.sampled_from(ORIGINS), st.integers(1, 12))
transactions = st.lists(gtids)


def of(members: list[Gtid]) -> GtidSet:
    return GtidSetBuilder(members).build()


def members(found: GtidSet) -> set[Gtid]:
    everything = (Gtid(origin, number) for origin in ORIGINS for number in range(15))
    return {one for one in everything if one in found}


@given(transactions)
def test_a_set_has_what_was_added_in_any_order_and_nothing_else(some: list[Gtid]) -> None:
    assert members(of(some)) == set(some)
    assert (len(of(some)), bool(of(some))) == (len(set(some)), bool(some))


@given(transactions, transactions)
def test_arithmetic_is_that_of_sets(some: list[Gtid], others: list[Gtid]) -> None:
    left, right = of(some), of(others)
    assert members(left | right) == set(some) | set(others)
    assert members(left - right) == set(some) - set(others)
    assert members(left & right) == set(some) & set(others)
    assert (left <= right) == (set(some) <= set(others))
    assert (left == right) == (set(some) == set(others))


@given(transactions)
def test_equal_sets_are_equal_texts_which_are_read_again(some: list[Gtid]) -> None:
    found = of(some)
    assert str(of(sorted(some))) == str(of(some[::-1])) == str(found)
    assert hash(of(some[::-1])) == hash(found)
    assert GtidSet.parse(str(found)) == found


def test_the_servers_own_notation_is_read() -> None:
    """As MySQL 9.7 writes gtid_executed."""
    text = f"{A}:7:a_tag_of_some_length_32_charact_:900,\n{B}:1-4:orders:1-2"
    assert str(GtidSet.parse(text)) == text.replace("\n", "")
    assert GtidSet.parse(f"{B.upper()}:4-5:2:1-2, {A}:1,,{B}:3") == GtidSet.parse(f"{A}:1,{B}:1-5")
    assert str(GtidSet.parse("")) == ""


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("binlog:1", "'binlog' is not a server's UUID"),
        (A, "has no numbers"),
        (f"{A}:orders", "has no numbers"),
        (f"{A}:5-1", "is not from a number to a higher one"),
        (f"{A}:0-1", "between 1 and"),
        (f"{A}:9223372036854775807", "between 1 and"),
        (f"{A}:1;2", "is neither a tag nor numbers"),
        (f"{A}:1-", "is neither a tag nor numbers"),
    ],
)
def test_what_is_no_set_is_told(text: str, why: str) -> None:
    with pytest.raises(GtidError, match=why):
        GtidSet.parse(text)


def test_a_gtid_is_written_as_the_server_does() -> None:
    assert [str(Gtid(origin, 7)) for origin in ORIGINS[:2]] == [f"{A}:7", f"{A}:orders:7"]
