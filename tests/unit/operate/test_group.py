"""Operators' commands on a stack whose database is a replication group: what its members say, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nomad_stateful.nomad.fingerprint import ZONE_ATTRIBUTE
from nomad_stateful.nomad.running_job import Endpoint
from nomad_stateful.operate import __main__ as command_line
from nomad_stateful.operate import group, ownership, restore, shell, stack, verify
from nomad_stateful.operate.cluster import Cluster
from nomad_stateful.operate.database import Database, Row
from nomad_stateful.operate.errors import OperateError, TimedOutError
from tests.programs import make_program
from tests.unit.operate.commands import parsed
from tests.unit.operate.conftest import Operate
from tests.unit.operate.group import MEMBERS, OUTPUTS, Agents, agents, server

__all__ = ["agents"]

WORKS = {
    "new": "has no stack",
    "sandbox": "has no stack",
    "verify": "test_verify_purges_and_drains_the_primary_and_asks_the_router",
    "mysql": "test_the_client_is_opened_in_the_primarys_task",
    "postgres": "the stack's database is MySQL",
    "snapshots": "lists by the volumes of the outputs",
    "status": "test_status_shows_the_members",
    "recover": "by the volumes of the outputs, of which each member has one",
    "doctor": "the tests of the check, in doctor/",
    "explain": "test_a_member_is_explained_with_its_group",
    "drain": "the tests of members, in drain/",
    "upgrade-driver": "restarts node plugins alone",
    "adopt": "there is no stack yet",
    "metrics": "test_metrics_say_what_each_member_is_and_where_the_routers_lead",
    "restore": "test_a_restored_moment_goes_on_as_a_single_server_of_its_own",
    "drill": "test_group_drill.py",
}
"""What works on a group, and where that is tested, or why it is as of a single server."""

REFUSED = {
    "upgrade-mysql": (["9.7.5"], "upgrades a single server", "set mysql.image, and run `pulumi up`"),
    "upgrade-postgres": (["18.2"], "upgrades a single server", "run `pulumi up`"),
    "move": (["mysql[1]", "--zone", "z"], "in the zone of its own volume", "joins again"),
    "failover": (["mysql[1]", "--zone", "z"], "in the zone of its own volume", "joins again"),
    "snapshot": (["mysql[1]", "--quiesce"], "the lock is of one server's session", "Omit --quiesce"),
}
NOT_REFUSED = {
    "move": ["dumps", "--zone", "z"],
    "failover": [],
    "snapshot": ["mysql[1]"],
}
"""What the same commands do otherwise."""


COMMANDS = {one.name: one for one in command_line.COMMANDS}


def test_every_command_works_on_a_group_or_is_refused() -> None:
    assert set(COMMANDS) == {*WORKS, *group.REFUSED}
    assert set(REFUSED) == set(group.REFUSED)
    assert not set(WORKS) & set(REFUSED)


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_for_a_single_server_is_refused_before_anything_else(
    name: str, operate: Operate, monkeypatch: pytest.MonkeyPatch
) -> None:
    words, why, remedy = REFUSED[name]
    monkeypatch.setattr(stack, "outputs", lambda: OUTPUTS)
    ended = operate(name, *words)
    assert ended.status == 1
    told = ended.err
    assert f"mysql.group is set, and {'' if why[0] != 'u' else 'this command '}" in told
    assert why in told
    assert "Nothing was changed" in told
    assert remedy in told


@pytest.mark.parametrize("name", NOT_REFUSED)
def test_the_same_command_does_what_is_not_about_one_server(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stack, "outputs", lambda: OUTPUTS)
    group.refuse(name, parsed(COMMANDS[name], *NOT_REFUSED[name]))


def test_a_single_server_is_refused_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stack, "outputs", lambda: {"mysql": {"job": "mysql-server", "volume": "mysql"}})
    for name, (words, _, _) in REFUSED.items():
        group.refuse(name, parsed(COMMANDS[name], *words))


def test_the_outputs_say_who_the_members_are() -> None:
    found = server()
    assert (found.job, found.volume) == ("mysql-server-router", "mysql[0]")
    assert [(one.job, one.zone, one.volume) for one in found.servers] == [tuple(one.values()) for one in MEMBERS]
    single = stack.DatabaseOutputs.of({"mysql": {"job": "db", "zone": "z", "volume": "data"}})
    assert single is not None
    assert (single.members, single.servers) == ((), (stack.Member("db", "z", "data"),))


def test_members_are_asked_by_their_agents(agents: Agents) -> None:
    agents.say["mysql-server-3"] |= {"lag_s": 2.5}
    first, second, third = agents.states()
    assert [one.state for one in (first, second, third)] == ["ONLINE"] * 3
    assert (second.is_primary, first.is_primary, third.lag_s) == (True, False, 2.5)
    assert second.at is not None
    assert second.at.node_name == "client-2"
    assert list(group.problems([first, second, third])) == []


@pytest.mark.parametrize(
    ("member", "says", "problem"),
    [
        ("mysql-server-1", {"state": "RECOVERING"}, "mysql-server-1 is RECOVERING"),
        ("mysql-server-1", {"state": "ERROR", "why": "it was expelled"}, "mysql-server-1 is ERROR (it was expelled)"),
        ("mysql-server-1", {"state": "", "why": "no server"}, "mysql-server-1 cannot be asked: no server"),
        ("mysql-server-1", {"disk": "the disk is full"}, "mysql-server-1 is ONLINE (the disk is full)"),
        ("mysql-server-1", {"majority": False}, "mysql-server-1 is ONLINE (it sees no majority of the members)"),
        ("mysql-server-2", {"read_only": True}, "mysql-server-2 is ONLINE (it is read-only)"),
        ("mysql-server-2", {"role": "SECONDARY"}, "no member is the primary: nobody can write"),
        ("mysql-server-1", {"role": "PRIMARY", "read_only": False}, "there are 2 primaries: mysql-server-1, "),
        ("mysql-server-3", {"state": "OFFLINE"}, "of 3 members 2 are ONLINE"),
    ],
)
def test_what_is_wrong_with_a_group_is_said(agents: Agents, member: str, says: dict[str, Any], problem: str) -> None:
    agents.say[member] |= says
    assert any(what.startswith(problem) for _, what in group.problems(agents.states()))


def test_a_member_that_does_not_answer_is_said_with_the_reason(agents: Agents) -> None:
    agents.say["mysql-server-1"] = "not JSON"
    agents.say["mysql-server-2"] = "[]"
    agents.nomad.put("job/mysql-server-3/allocations", [])
    first, second, third = agents.states()
    assert str(first).startswith("mysql-server-1 cannot be asked: its agent on client-1 (127.0.0.1:")
    assert "does not answer" in str(second)
    assert str(third) == (
        "mysql-server-3 cannot be asked: no allocation of it runs (`nomad-stateful explain mysql-server-3`)"
    )
    agents.nomad.refuse("job/mysql-server-3/allocations", 403, "Permission denied")
    assert "Permission denied" in agents.states()[2].why


def test_an_agent_that_nobody_reaches_is_no_traceback(agents: Agents) -> None:
    ports = {"Ports": [{"Label": "agent", "HostIP": "127.0.0.1", "Value": 1}]}
    agents.nomad.put("allocation/mysql-server-1-a", {"AllocatedResources": {"Shared": ports}})
    assert "(127.0.0.1:1) does not answer" in agents.states()[0].why


def test_the_jobs_that_are_asked_of_a_database_are_the_primarys(agents: Agents) -> None:
    assert ownership.database_job(agents.nomad.api, server()).job_id == "mysql-server-2"
    agents.say["mysql-server-2"] |= {"role": "SECONDARY"}
    with pytest.raises(OperateError, match=r"mysql-server has 0 primaries \(no member is the primary"):
        ownership.database_job(agents.nomad.api, server())
    single = replace(server(), members=())
    assert ownership.database_job(agents.nomad.api, single).job_id == "mysql-server-router"


def test_the_client_is_opened_in_the_primarys_task(
    agents: Agents, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_program(tmp_path / "nomad", 'printf "%s " "$@" >"$TOLD"')
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("TOLD", str(tmp_path / "words"))
    monkeypatch.setattr(stack, "nomad_config", dict)
    monkeypatch.setattr(ownership, "connect", lambda: agents.nomad.api)
    agents.nomad.put("volume/csi/mysql%5B0%5D", {"ID": "mysql[0]", "ExternalID": "vol-0", "Namespace": "default"})
    with pytest.raises(SystemExit):
        shell.client("mysql", [])
    assert "-task=mysql mysql-server-2-a sh -c" in (tmp_path / "words").read_text()


def ready_client(zone: str) -> dict[str, Any]:
    ready = {"Name": "spare", "Status": "ready", "SchedulingEligibility": "eligible"}
    return ready | {"Attributes": {ZONE_ATTRIBUTE: zone}}


class Rows:
    """A database that keeps rows, and by whom it was asked."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.asked: list[tuple[str, str, int]] = []

    def wait_until_it_answers(self, at: Endpoint, _timeout_s: float) -> None:
        self.asked.append((at.allocation_id, at.host, at.port))

    def read(self, _at: Endpoint, _run: str) -> list[Row]:
        return self.rows

    def write(self, at: Endpoint, run: str, first: int, count: int) -> list[Row]:
        made = [Row(run, number, at.allocation_id, at.node_name) for number in range(first, first + count)]
        self.rows = [*self.rows, *made]
        return made

    def delete(self, _at: Endpoint, _run: str) -> None:
        self.rows = []


@pytest.mark.parametrize(
    ("spare", "drained"),
    [
        ("us-west-2c", "mysql-server-3 client-3"),
        ("us-west-2b", "mysql-server-2 client-2"),
    ],
)
def test_verify_purges_and_drains_the_primary_and_asks_the_router(
    agents: Agents, monkeypatch: pytest.MonkeyPatch, spare: str, drained: str
) -> None:
    """The primary is another one after the purge; it is drained where its zone has another client."""

    rows, did = Rows(), list[str]()
    monkeypatch.setattr(Database, "of", lambda _: rows)

    def purge(cluster: Cluster) -> None:
        did.append(f"purge {cluster.job_id}")
        agents.say["mysql-server-2"] |= {"role": "SECONDARY", "read_only": True}
        agents.say["mysql-server-3"] |= {"role": "PRIMARY", "read_only": False}
        agents.place("mysql-server-2", 2, "mysql", agent=agent)
        agents.nomad.put("job/mysql-server-2/allocations", [stub | {"ID": "again"}])
        agents.nomad.put("allocation/again", agents.nomad.api.get("allocation/mysql-server-2-a"))

    [stub] = agents.nomad.api.get("job/mysql-server-2/allocations")
    *_, port = agents.nomad.api.get("allocation/mysql-server-2-a")["AllocatedResources"]["Shared"]["Ports"]
    agent = f"http://127.0.0.1:{port['Value']}"

    def drain(cluster: Cluster, at: Endpoint, zone: str, _timeout_s: float) -> Endpoint:
        did.append(f"drain {cluster.job_id} {at.node_name} {zone}")
        return at

    monkeypatch.setattr(Cluster, "purge_and_register", purge)
    monkeypatch.setattr(verify, "drain", drain)
    agents.nomad.put("node/n9", ready_client(spare))
    proof = verify._verified(agents.nomad.api, server(), 5)
    assert did == ["purge mysql-server-2", f"drain {drained} {spare}"]
    router = ("10.0.0.1", 3306)
    assert rows.asked == [(f"mysql-server-{number}-a", *router) for number in (2, 3, 3)]
    assert len(proof.rows) == 10


def test_verify_changes_nothing_while_a_member_is_missing(agents: Agents, monkeypatch: pytest.MonkeyPatch) -> None:
    agents.say["mysql-server-1"] |= {"state": "RECOVERING"}
    monkeypatch.setattr(Database, "of", lambda _: SimpleNamespace())
    with pytest.raises(TimedOutError, match="all members are ONLINE: mysql-server-1 is RECOVERING"):
        verify._verified(agents.nomad.api, server(), 0.1)
    assert agents.nomad.requested("PUT") == []


def test_verify_changes_nothing_while_a_restore_has_not_ended(agents: Agents) -> None:
    run = {"ParentID": "mysql-backup-restore", "Type": "batch", "Status": "running"}
    agents.nomad.put("job/mysql-backup-restore/dispatch-1", run)
    with pytest.raises(OperateError, match="mysql-backup-restore/dispatch-1 is running"):
        verify._verified(agents.nomad.api, server(), 0.1)
    assert agents.nomad.requested("PUT") == []


def test_a_restore_asks_with_a_dump_as_the_way_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stack, "outputs", lambda: OUTPUTS)
    asked: list[str] = []

    def agree(question: str) -> None:
        asked.append(question)
        raise OperateError("no")

    with pytest.raises(OperateError, match="no"):
        restore.restore(SimpleNamespace(agree=agree), "latest", "volume", 1)  # type: ignore[arg-type]
    assert "a dump (`nomad job periodic force mysql-backup`) is the way back" in asked[0]


@pytest.mark.parametrize(
    ("job", "namespace", "stays"),
    [
        ("mysql-server-1", "default", True),
        ("mysql-server-3", "default", False),
        ("mysql-server-router", "default", False),
        ("mysql-server-1", "other", False),
    ],
)
def test_a_member_has_to_stay_while_another_one_is_away(
    agents: Agents, monkeypatch: pytest.MonkeyPatch, job: str, namespace: str, stays: bool
) -> None:
    """Whatever the stack's outputs say: it may be of another stack, or its last `up` have failed."""
    monkeypatch.setattr(stack, "outputs", dict)
    agents.say["mysql-server-3"] |= {"state": "RECOVERING"}
    away = group.others_away(agents.nomad.api, namespace, job)
    assert away == ("mysql-server-3 is RECOVERING" if stays else "")


def test_a_member_has_to_stay_where_nobody_says_who_is_there(agents: Agents) -> None:
    agents.say = dict.fromkeys(agents.say, "no answer of an agent")
    assert "mysql-server-3 cannot be asked" in group.others_away(agents.nomad.api, "default", "mysql-server-1")
