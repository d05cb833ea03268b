"""A member of a replication group changes once the others are ONLINE: the group never has two away at once."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from nomad_stateful import jobspec
from nomad_stateful.errors import ProviderError
from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.group_members import MemberState
from nomad_stateful.nomad.running_job import Endpoint
from nomad_stateful.provider import others
from nomad_stateful.provider.resources.volume_release import VolumeRelease
from nomad_stateful.waiting import Context
from tests.fake_nomad import FakeNomad

JOBS = ("db-1", "db-2", "db-3")
INPUTS: dict[str, Any] = {
    "volumeId": "data[1]",
    "namespace": "default",
    "backend": "none",
    "consumerJobId": "db-2",
    "triggers": {"job": "1"},
    "timeoutS": 0.05,
}
STATE = INPUTS | {"releaseId": "r1"}
ARGUMENTS = ["group", "--group=a1a1", "--member=db-2", "--first=db-1", "--members=db-1:13306,db-2:13306,db-3:13306"]
AGENT = {"Name": "group", "Config": {"args": ARGUMENTS}}
JOB = {"Stop": False, "TaskGroups": [{"Name": "mysql", "Count": 1, "Tasks": [{"Name": "mysql"}, AGENT]}]}
ONLINE = MemberState("", Endpoint("a", "n", "client", "10.0.0.1", 13307), "ONLINE", "SECONDARY", view=JOBS)
AWAY = MemberState("", why="no allocation of it runs")
OFFLINE = replace(ONLINE, state="OFFLINE", role="", view=())
MUTE = replace(ONLINE, state="", role="", view=(), why="its agent does not answer", silent=True)
UNHEARD = replace(MUTE, at=None, why="Nomad does not answer")
ALONE = replace(ONLINE, majority=False)
PAUSED = replace(ONLINE, why="the server was paused or alone, and has not heard from its group just now")


@dataclass
class Members:
    """What the members say, each time they are asked; the last answer stays."""

    says: dict[str, list[MemberState]] = field(default_factory=dict)
    asked: int = 0

    def ask(self, _api: NomadApi, namespace: str, job: str, group: str) -> MemberState:
        assert (namespace, group) == ("default", "mysql")
        self.asked += 1
        said = self.says[job]
        return replace(said.pop(0) if len(said) > 1 else said[0], job=job)


@pytest.fixture
def nomad(nomad: FakeNomad, monkeypatch: pytest.MonkeyPatch) -> FakeNomad:
    monkeypatch.setattr(others, "_POLL_S", 0.005)
    monkeypatch.setattr(others, "_MUTE_S", 0.5)
    nomad.put("job/db-2", JOB)
    return nomad


def change(
    nomad: FakeNomad, first: Any, own: Any, third: Any = ONLINE, limit_s: float = 0.05
) -> tuple[Members, list[str]]:
    """Changes the second member's gate; returns whom it asked, and what it logged."""
    says = [list(one) if isinstance(one, list) else [one] for one in (first, own, third)]
    members, logged = Members(dict(zip(JOBS, says, strict=True))), list[str]()
    context = Context(timeout_s=limit_s, sink=lambda _severity, text, _urn, _ephemeral: logged.append(text))
    release = VolumeRelease(lambda: nomad.api, ask=members.ask)
    changed = release.update(context, "r1", STATE, INPUTS, INPUTS | {"triggers": {"job": "2"}})
    assert changed["triggers"] == {"job": "2"}
    return members, logged


@pytest.mark.parametrize("first", [AWAY, OFFLINE, MUTE, ALONE, PAUSED])
@pytest.mark.parametrize("own", [ONLINE, MUTE])
def test_a_member_of_two_is_left_as_it_is(nomad: FakeNomad, first: MemberState, own: MemberState) -> None:
    with pytest.raises(ProviderError, match=r"job db-2 is left as it is .*ONLINE: db-1 ") as failed:
        change(nomad, first, own)
    assert "Bring that member back" in str(failed.value)
    assert nomad.writes == []


@pytest.mark.parametrize("seen", [{"view": JOBS[1:]}, {"unreachable": JOBS[:1]}])
def test_one_that_the_others_do_not_hear_is_away_whatever_it_says(nomad: FakeNomad, seen: dict[str, Any]) -> None:
    """As one that was paused and does not know yet that it was expelled."""
    with pytest.raises(ProviderError, match=r"job db-2 is left as it is .*ONLINE: db-1 is not heard by db-2, db-3\."):
        change(nomad, ONLINE, replace(ONLINE, **seen), replace(ONLINE, **seen))


def test_it_changes_once_the_other_is_back(nomad: FakeNomad) -> None:
    members, logged = change(nomad, [AWAY, replace(OFFLINE, state="RECOVERING"), ONLINE], ONLINE, limit_s=60)
    assert members.asked == 9
    assert logged[0].startswith("waiting until the other members of its group are ONLINE: db-1 cannot be asked: no ")


@pytest.mark.parametrize("own", [AWAY, OFFLINE, ALONE])
def test_one_that_is_in_no_group_takes_nobody_away(nomad: FakeNomad, own: MemberState) -> None:
    """Also where its own agent is away, and those that are in the group do not see it."""
    seen = replace(ONLINE, view=("db-1", "db-3"))
    assert change(nomad, AWAY, own, replace(ONLINE, view=("db-3",)))[0].asked == 3
    assert change(nomad, OFFLINE, MUTE, replace(ONLINE, view=("db-3",)))[0].asked == 3
    assert change(nomad, seen, own, seen)[0].asked == 3


@pytest.mark.parametrize("all_say", [OFFLINE, AWAY])
def test_a_group_that_has_not_begun_is_not_waited_for(nomad: FakeNomad, all_say: MemberState) -> None:
    members, logged = change(nomad, all_say, all_say, AWAY)
    assert (members.asked, logged) == (3, [])


@pytest.mark.parametrize("third", [AWAY, OFFLINE, replace(OFFLINE, state="RECOVERING")])
def test_where_no_agent_of_the_group_can_be_reached_it_warns(nomad: FakeNomad, third: MemberState) -> None:
    members, [waits, *_, warning] = change(nomad, MUTE, MUTE, third, limit_s=60)
    assert members.asked > 3
    assert waits.startswith("waiting until a member of its group can be asked: db-1 cannot be asked")
    assert warning.startswith("job db-2 changes though no member of its group can be asked: db-1 cannot be asked: its")


def check(nomad: FakeNomad, job: str, output: str) -> None:
    """Has Nomad's client check a member that runs: it is healthy, or the check fails so."""
    stub = {"ID": job, "TaskGroup": "mysql", "CreateIndex": 1, "DesiredStatus": "run", "ClientStatus": "running"}
    nomad.put(f"job/{job}/allocations", [stub])
    status = "failure" if output else "success"
    said = {"c": {"Check": "healthy", "Status": status, "Output": output or "nomad: http ok"}}
    nomad.put(f"client/allocation/{job}/checks", said)


NOT_WHOLE, REFUSED = "of 3 members 2 are ONLINE", 'nomad: Get "http://10.0.0.2:13307/healthy": connection refused'
SLOW, NO_ACCOUNTS = "the server does not answer: not within 1.8 s", "databases and accounts are not made yet"


def changed_by_checks(nomad: FakeNomad, *outputs: str | None, limit_s: float = 60) -> bool:
    """Changes the gate where no agent can be reached, only the members' checks; returns whether it warned."""
    for job, output in zip(JOBS, outputs, strict=True):
        if output is not None:
            check(nomad, job, output)
    _, logged = change(nomad, MUTE, MUTE, MUTE, limit_s=limit_s)
    return any("changes though" in line for line in logged)


@pytest.mark.parametrize(
    ("outputs", "warns"),
    [
        (("", "", ""), False),
        ((None, "", ""), True),
        (("", NO_ACCOUNTS, ""), False),
        ((None, "the member is OFFLINE", None), False),
        ((NOT_WHOLE, "the member is OFFLINE, and db-3 is in the group", NOT_WHOLE), False),
        ((NOT_WHOLE, "the member is RECOVERING", None), False),
    ],
)
def test_where_no_agent_can_be_reached_nomads_checks_say_that_it_may_change(
    nomad: FakeNomad, outputs: tuple[str | None, ...], warns: bool
) -> None:
    assert changed_by_checks(nomad, *outputs) == warns


@pytest.mark.parametrize(
    "outputs", [(None, NOT_WHOLE, None), (NOT_WHOLE, "", None), (None, "", NOT_WHOLE), (NOT_WHOLE, NO_ACCOUNTS, None)]
)
def test_where_no_agent_can_be_reached_nomads_checks_say_who_is_away(
    nomad: FakeNomad, outputs: tuple[str | None, ...]
) -> None:
    """Also where its own agent was started since, and knows of nobody who is away."""
    with pytest.raises(ProviderError, match=rf"job db-2 is left as it is after .* are ONLINE: {NOT_WHOLE}\."):
        changed_by_checks(nomad, *outputs, limit_s=0.3)


@pytest.mark.parametrize("own", [REFUSED, SLOW])
@pytest.mark.parametrize(
    ("first", "third", "warns"),
    [
        ("", "", False),
        (NOT_WHOLE, NOT_WHOLE, False),
        (NOT_WHOLE, "", False),
        (None, "", True),
        (None, NOT_WHOLE, True),
        (NOT_WHOLE, "the member is RECOVERING", True),
        (NOT_WHOLE, SLOW, True),
    ],
)
def test_where_its_own_server_answers_no_check_those_of_the_others_say_whether_it_is_the_one_away(
    nomad: FakeNomad, own: str, first: str | None, third: str, warns: bool
) -> None:
    assert changed_by_checks(nomad, first, own, third) == warns


def test_a_server_that_was_slow_once_is_asked_again(nomad: FakeNomad) -> None:
    with pytest.raises(ProviderError, match="job db-2 is left as it is"):
        change(nomad, [MUTE, ONLINE], [MUTE, ONLINE], AWAY)
    assert nomad.writes == []


@pytest.mark.parametrize("silent", [MUTE, UNHEARD])
def test_silence_does_not_end_a_wait_for_one_that_is_away(nomad: FakeNomad, silent: MemberState) -> None:
    with pytest.raises(ProviderError, match=r"job db-2 is left as it is after .* until a member of its group can be"):
        change(nomad, [ONLINE, silent], [ONLINE, silent], [AWAY, silent], limit_s=1)


def test_where_nomad_does_not_say_who_is_there_it_is_asked_again(nomad: FakeNomad) -> None:
    with pytest.raises(ProviderError, match=r"ONLINE: db-3 cannot be asked"):
        change(nomad, [UNHEARD, ONLINE], [UNHEARD, ONLINE], AWAY, limit_s=0.5)


@pytest.mark.parametrize(
    "job", [JOB | {"Stop": True}, {"TaskGroups": [{"Name": "mysql", "Tasks": [{"Name": "mysql"}]}]}, None]
)
def test_of_a_single_server_or_a_stopped_one_nobody_is_asked(nomad: FakeNomad, job: Any) -> None:
    nomad.put("job/db-2", job)
    assert change(nomad, AWAY, ONLINE)[0].asked == 0


def test_the_job_file_names_the_members_where_they_are_looked_for() -> None:
    text = jobspec.spec("database", {"server": {"database": "mysql"}, "job": {"id": "db-2", "namespace": "default"}})
    assert all(word in text for word in ('["group"]', '"--group=${', '"--first=${', '"--members=${join(",", [for name'))
