"""A member that is in no group joins, begins or waits, and never begins a second group."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nomad_stateful.agent.membership.decision import Answer, next_step
from nomad_stateful.databases.mysql.group_start import MemberTransactions
from nomad_stateful.databases.mysql.gtids import GtidSet
from tests.unit.agent.group_world import GROUP_ID, NAMES, group, has, offline, online

LOCAL = "3e11fa47-71ca-11e1-9e33-c80aa9429562"


def all_offline(*transactions: MemberTransactions) -> dict[str, Answer]:
    return {name: offline(name, held) for name, held in zip(NAMES, transactions or [has()] * 3, strict=True)}


def steps(answers: Mapping[str, Answer | str]) -> list[str]:
    """What each member does that has these answers."""
    return [next_step(group(name), answers).kind for name in NAMES]


def test_of_a_group_that_never_was_the_first_one_begins() -> None:
    assert steps(all_offline()) == ["begin", "wait", "wait"]


def test_the_first_one_begins_with_the_data_of_a_single_server() -> None:
    data = MemberTransactions(GtidSet.parse(f"{LOCAL}:1-9"), GtidSet.parse(""))
    assert steps(all_offline(data, has(), has())) == ["begin", "wait", "wait"]


def test_the_first_one_does_not_begin_without_what_another_has() -> None:
    """It would serve an empty database, and the one with the data could never join."""
    data = MemberTransactions(GtidSet.parse(f"{LOCAL}:1-9"), GtidSet.parse(""))
    answers = all_offline(has(), data, has())
    assert steps(answers) == ["wait"] * 3
    assert f"member-1 is to begin the group, and lacks transactions that another member has ({LOCAL}:1-9)" in (
        next_step(group(), answers).why
    )


def test_a_group_that_was_stopped_is_begun_by_who_has_everything() -> None:
    assert steps(all_offline(has("1-5"), has("1-5", "6-9"), has("1-8"))) == ["wait", "begin", "wait"]
    assert steps(all_offline(has(), has(), has("1-8"))) == ["wait", "wait", "begin"]


def test_where_each_lacks_something_nobody_begins() -> None:
    answers = all_offline(has("1-5"), has("1-4:6"), has())
    assert steps(answers) == ["wait"] * 3
    assert "No member has the transactions of all" in next_step(group(), answers).why


def test_a_member_joins_once_its_former_self_was_expelled() -> None:
    names = frozenset(NAMES)
    others = {
        name: replace(online(name, role), view=names)
        for name, role in zip(NAMES[1:], ("PRIMARY", "SECONDARY"), strict=True)
    }
    answers = {"member-1": offline("member-1", has("1-5")), **others}
    step = next_step(group("member-1"), answers)
    assert (step.kind, step.why) == (
        "wait",
        "member-2 has this member in its view, as it was before, and expels it first",
    )
    answers |= {name: replace(one, view=names - {"member-1"}) for name, one in others.items()}
    assert next_step(group("member-1"), answers).kind == "join"


@pytest.mark.parametrize("missing", NAMES[1:])
def test_without_an_answer_of_each_nobody_begins(missing: str) -> None:
    for answers in (all_offline(), all_offline(has("1-5"), has("1-3"), has("1-3"))):
        step = next_step(group(), {**answers, missing: "2003 timed out"})
        assert (step.kind, f"{missing} (2003 timed out)" in step.why) == ("wait", True)
        del answers[missing]
        assert f"{missing} (was not asked)" in next_step(group(), answers).why


def test_whoever_sees_a_peer_in_a_group_joins_it() -> None:
    answers = {**all_offline(), "member-3": online("member-3")}
    # Two that copy all of a member, one after the other.
    assert [next_step(group(name), answers).kind for name in NAMES[:2]] == ["join", "wait"]
    known = {name: offline(name, has("1-8")) for name in NAMES[:2]}
    assert [next_step(group(name), answers | known).kind for name in NAMES[:2]] == ["join", "join"]
    # The first one too, with an empty volume, and where the other peer is away.
    assert next_step(group(), {**answers, "member-2": "2003 refused"}).kind == "join"


@pytest.mark.parametrize(
    ("state", "reachable", "said"),
    [
        ("ONLINE", 1, "member-2 is ONLINE without a majority"),
        ("RECOVERING", 3, "member-2 is RECOVERING"),
        ("ERROR", 1, "member-2 is ERROR"),
    ],
)
def test_where_a_peer_is_not_offline_nobody_begins(state: str, reachable: int, said: str) -> None:
    peer = replace(online("member-2", reachable=reachable), state=state)
    step = next_step(group(), {**all_offline(), "member-2": peer})
    assert (step.kind, step.why) == ("wait", f"{said}: the group begins only when all are OFFLINE")


def test_one_server_under_two_names_is_no_answer_of_two() -> None:
    answers = {**all_offline(), "member-3": offline("member-2")}
    assert steps(answers) == ["wait"] * 3
    assert "lead to one server" in next_step(group(), answers).why


@pytest.mark.parametrize("state", ["OFFLINE", "ONLINE"])
def test_a_server_of_another_group_is_neither_joined_nor_counted(state: str) -> None:
    stray = replace(online("member-3"), state=state, group_id=str(uuid.UUID(int=1)))
    step = next_step(group(), {**all_offline(), "member-3": stray})
    assert (step.kind, "member-3 is configured for the group 0000" in step.why) == ("wait", True)


def test_a_transaction_that_was_only_received_is_of_a_group_that_began() -> None:
    assert offline("member-1", has("", "1")).was_in_group
    assert not offline("member-1", MemberTransactions(GtidSet.parse(f"{LOCAL}:1"), GtidSet.parse(""))).was_in_group
    assert next_step(group("member-2"), all_offline(has(), has("", "1"), has())).kind == "begin"


NUMBERS = st.sets(st.integers(1, 6)).map(lambda numbers: ":".join(map(str, sorted(numbers))))
STATES = st.sampled_from([*["OFFLINE"] * 6, "ONLINE", "RECOVERING", "ERROR"])
ANSWER = st.tuples(STATES, NUMBERS, NUMBERS, st.integers(1, 3))


@given(st.lists(st.none() | ANSWER, min_size=3, max_size=3))
def test_the_same_answers_have_at_most_one_member_begin_and_it_has_everything(
    drawn: list[tuple[str, str, str, int] | None],
) -> None:
    answers: dict[str, Answer | str] = {}
    for name, one in zip(NAMES, drawn, strict=True):
        if one is None:
            answers[name] = "no answer"
        else:
            state, executed, received, reachable = one
            answers[name] = Answer(name, GROUP_ID, state, "", True, False, 3, reachable, 0, has(executed, received))
    begin = [name for name in NAMES if next_step(group(name), answers).kind == "begin"]
    assert len(begin) <= 1
    for name in begin:
        held = [one.transactions.held for one in answers.values() if isinstance(one, Answer)]
        own = answers[name]
        assert isinstance(own, Answer)
        assert len(held) == len(NAMES)
        assert all(one <= own.transactions.held for one in held)
