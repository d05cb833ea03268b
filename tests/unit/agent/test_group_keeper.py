"""What the agent tells its server round by round, with the servers of three members as data."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from nomad_stateful.agent.membership import keeper as keeping
from nomad_stateful.agent.membership.decision import Answer
from tests.unit.agent.group_world import NAMES, FakeMember, Servers, has, keeper, offline, online


def stopped() -> Servers:
    return Servers({name: offline(name) for name in NAMES})


def told(servers: Servers, name: str = NAMES[0]) -> list[str]:
    return [what for who, what in servers.told if who == name]


def test_three_agents_make_one_group_which_is_marked_as_begun() -> None:
    servers = stopped()
    agents = [keeper(FakeMember(servers, name), []) for name in reversed(NAMES)]
    for _ in range(3):
        for agent in agents:
            agent.round()
    assert servers.begun == ["member-1"]
    assert [one.state for one in servers.answers.values()] == ["ONLINE"] * 3
    assert told(servers) == ["prepare", "begin", "mark"]
    assert [told(servers, name) for name in NAMES[1:]] == [["prepare", "join"]] * 2


@pytest.mark.parametrize("seed", range(40))
def test_agents_ended_and_started_again_at_any_step_begin_one_group(seed: int) -> None:
    """A new agent knows nothing of what the one before it did."""
    servers, draw = stopped(), random.Random(seed)
    agents = {name: keeper(FakeMember(servers, name), []) for name in NAMES}
    for _ in range(60):
        name = draw.choice(NAMES)
        if draw.random() < 0.3:
            agents[name] = keeper(FakeMember(servers, name), [])
        agents[name].round()
    assert servers.begun == ["member-1"]
    assert [one.state for one in servers.answers.values()] == ["ONLINE"] * 3
    assert servers.answers["member-1"].was_in_group


def test_a_step_that_is_not_the_next_one_any_more_is_not_done() -> None:
    """As of an agent that was paused between its questions and its deed."""
    servers, said = stopped(), list[str]()
    member = FakeMember(servers, NAMES[0])
    agent = keeper(member, said)
    old = member.ask_peers()
    servers.answers["member-2"] = online("member-2")
    member.ask_peers = lambda: old  # type: ignore[method-assign]
    agent.round()
    assert servers.begun == []
    assert said[-1] == "waits: member-2 is in the group"


def test_a_server_whose_account_was_being_made_is_read_only_again() -> None:
    servers = stopped()
    servers.answers["member-1"] = replace(offline("member-1"), read_only=False)
    keeper(FakeMember(servers, NAMES[0]), []).round()
    assert told(servers)[:2] == ["super_read_only = ON", "prepare"]


def test_a_member_of_the_group_takes_clients_again() -> None:
    servers = stopped()
    servers.answers["member-1"] = replace(online("member-1", "SECONDARY"), offline_mode=True)
    keeper(FakeMember(servers, NAMES[0]), []).round()
    assert told(servers) == ["offline_mode = OFF"]


def test_a_refused_join_is_said_with_the_servers_words_and_tried_more_rarely() -> None:
    servers, said = stopped(), list[str]()
    servers.answers["member-2"] = online("member-2")
    member = FakeMember(servers, NAMES[0])
    member.refusal = "3092 The server is not configured properly"
    agent = keeper(member, said)
    pauses = [agent.round() for _ in range(9)]
    assert pauses[0] <= 1
    assert 15 <= pauses[-1] <= 30
    assert said == [
        "OFFLINE: joins: member-2 is in the group",
        "OFFLINE: could not join, and tries again: 3092 The server is not configured properly\n  the log's own words",
    ]
    # The account may be what was wrong.
    assert told(servers)[:4] == ["prepare", "join"] * 2


def test_an_expelled_member_is_left_to_its_own_first_try(monkeypatch: pytest.MonkeyPatch) -> None:
    servers, said = stopped(), list[str]()
    servers.answers["member-1"] = replace(online("member-1"), state="ERROR")
    member = FakeMember(servers, NAMES[0])
    member.rejoining = True
    agent = keeper(member, said)
    agent.round()
    assert told(servers) == ["end clients"]
    monkeypatch.setattr(keeping, "_REJOINS_WITHIN_S", 0.0)
    agent.round()
    assert told(servers) == ["end clients", "end clients", "leave"]
    assert said[-1] == "ERROR: leaves the group, to join again"


def test_an_expelled_member_without_tries_of_its_own_leaves_at_once_and_joins() -> None:
    servers = stopped()
    expelled = replace(online("member-1", "SECONDARY"), state="ERROR")
    servers.answers |= {"member-1": expelled, "member-2": online("member-2")}
    agent = keeper(FakeMember(servers, NAMES[0]), [])
    assert agent.round() == 0
    agent.round()
    assert told(servers) == ["end clients", "leave", "prepare", "join"]


def test_what_it_waits_for_is_said_once_and_a_server_that_came_back_is_prepared_anew() -> None:
    servers, said = stopped(), list[str]()
    own = servers.answers.pop("member-3")
    agent = keeper(FakeMember(servers, "member-3"), said)
    for _ in range(3):
        agent.round()
    assert said == ["waits for its server: 2003 refused"]
    for _ in range(2):
        servers.answers["member-3"] = own
        agent.round()
        agent.round()
        del servers.answers["member-3"]
        agent.round()
    assert said[1] == "OFFLINE: member-1 begins the group"
    assert told(servers, "member-3") == ["prepare"] * 2


def test_a_primary_that_sees_no_majority_says_what_ends_it() -> None:
    servers, said = stopped(), list[str]()
    del servers.answers["member-3"]
    servers.answers["member-1"] = replace(online("member-1", reachable=1), transactions=has())
    keeper(FakeMember(servers, NAMES[0]), said).round()
    assert said == ["ONLINE without a majority: nothing is written until another member can be reached"]
    assert told(servers) == []


@pytest.mark.parametrize("left", ["ONLINE", "RECOVERING"])
@pytest.mark.parametrize("state", ["OFFLINE", "ERROR"])
def test_a_group_whose_other_servers_were_started_again_is_begun_by_who_has_everything(state: str, left: str) -> None:
    servers = stopped()
    servers.answers |= {name: replace(offline(name, has("1-8")), state=state) for name in NAMES[:2]}
    servers.answers["member-3"] = replace(online("member-3", "SECONDARY", reachable=1), state=left)
    agents = [keeper(FakeMember(servers, name), []) for name in NAMES]
    for _ in range(4):
        for agent in agents:
            agent.round()
    assert servers.begun == ["member-3"]
    assert told(servers, "member-3") == ["start again", "prepare", "begin"]
    assert [one.state for one in servers.answers.values()] == ["ONLINE"] * 3


def test_a_member_goes_on_without_one_that_was_expelled_and_does_not_answer() -> None:
    servers = stopped()
    del servers.answers["member-1"]
    servers.answers["member-2"] = offline("member-2", has("1-8"))
    alone = replace(online("member-3", reachable=1), members=2, view=frozenset(NAMES[1:]))
    servers.answers["member-3"] = alone
    agents = [keeper(FakeMember(servers, name), []) for name in reversed(NAMES[1:])]
    for _ in range(3):
        for agent in agents:
            agent.round()
    assert servers.begun == []
    assert told(servers, "member-3") == ["go on alone"]
    assert told(servers, "member-2")[-1] == "join"


def test_a_member_that_is_not_up_to_date_never_goes_on_alone() -> None:
    servers, said = stopped(), list[str]()
    del servers.answers["member-1"]
    servers.answers["member-2"] = offline("member-2", has("1-8"))
    alone = replace(online("member-3", reachable=1), members=2, view=frozenset(NAMES[1:]), state="RECOVERING")
    servers.answers["member-3"] = alone
    keeper(FakeMember(servers, "member-3"), said).round()
    assert told(servers, "member-3") == []
    assert said == ["RECOVERING without a majority: nothing is written until another member can be reached"]


@pytest.mark.parametrize(
    ("view", "other"),
    [
        (NAMES, offline("member-2", has("1-8"))),
        (NAMES[1:], offline("member-2", has("1-12"))),
        (NAMES[1:], online("member-2", reachable=1)),
    ],
    ids=["it may be in the group", "the other has more", "the other is in the group"],
)
def test_a_member_waits_for_one_that_does_not_answer(view: tuple[str, ...], other: Answer) -> None:
    servers = stopped()
    del servers.answers["member-1"]
    servers.answers["member-2"] = other
    servers.answers["member-3"] = replace(online("member-3", reachable=1), view=frozenset(view))
    keeper(FakeMember(servers, "member-3"), []).round()
    assert told(servers) == []


@pytest.mark.parametrize("other", [None, online("member-2", "SECONDARY", reachable=1), online("member-2")])
def test_a_member_without_a_majority_stays_while_another_may_have_one(other: Answer | None) -> None:
    servers = stopped()
    servers.answers["member-1"] = online("member-1", reachable=1)
    del servers.answers["member-2"]
    servers.answers |= {"member-2": other} if other else {}
    keeper(FakeMember(servers, NAMES[0]), []).round()
    assert told(servers) == []


def test_new_members_join_one_after_the_other() -> None:
    """Each copies all of a member, which can be copied once at a time."""
    servers = stopped()
    servers.answers["member-1"] = online("member-1")
    for name in NAMES[1:]:
        servers.answers[name] = offline(name)
    said: list[str] = []
    last = keeper(FakeMember(servers, "member-3"), said)
    last.round()
    servers.answers["member-2"] = replace(online("member-2", "SECONDARY"), state="RECOVERING")
    last.round()
    assert told(servers, "member-3") == ["prepare"]
    assert said == ["OFFLINE: member-2 joins first"]
    servers.answers["member-2"] = online("member-2", "SECONDARY")
    last.round()
    assert told(servers, "member-3")[-1] == "join"


def test_sessions_that_a_member_had_before_are_ended_while_it_takes_what_it_lacks() -> None:
    servers, said = stopped(), list[str]()
    servers.answers |= {"member-1": online("member-1"), "member-2": replace(online("member-2"), state="RECOVERING")}
    agent = keeper(FakeMember(servers, "member-2"), said)
    agent.round()
    assert told(servers, "member-2") == ["end clients"]
    servers.answers["member-2"] = online("member-2", "SECONDARY")
    agent.round()
    assert told(servers, "member-2") == ["end clients"]
    assert said == ["RECOVERING: takes from the others what it lacks", "ONLINE, SECONDARY"]


def test_one_that_was_in_the_group_joins_beside_another() -> None:
    servers = stopped()
    servers.answers["member-1"] = online("member-1")
    servers.answers["member-2"] = replace(online("member-2", "SECONDARY"), state="RECOVERING")
    servers.answers["member-3"] = offline("member-3", has("1-5"))
    keeper(FakeMember(servers, "member-3"), []).round()
    assert told(servers, "member-3")[-1] == "join"
