"""Faults of a replication group: what is drawn for one, how clients reach it, and what is noticed of its members."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import yaml

from nomad_stateful.program import plan, settings
from sandbox.settings import PROJECT, load_settings
from tools.faults import members
from tools.faults.cases import every_fault
from tools.faults.members import Watch
from tools.faults.routed import Routed
from tools.faults.stack_settings import with_server
from tools.trial.ground import Ground
from tools.trial.servers import MYSQL, MYSQL_GROUP, POSTGRES

GROUND = Ground("x", cast("Any", "10.0.0.0/24"), 3, clients=3)


def test_a_group_has_faults_of_its_own_and_no_other_database_has_them() -> None:
    of_group = every_fault(MYSQL_GROUP, 3)
    assert {one.family for one in of_group} == {"group"}
    assert all(one.target_s for one in of_group)
    assert {"kill -9 of the primary's mysqld", "kill -9 of all three at once"} <= {one.name for one in of_group}
    assert every_fault(MYSQL_GROUP, 1) == ()
    for server in (MYSQL, POSTGRES):
        assert "group" not in {one.family for one in every_fault(server, 3)}


def test_the_stack_has_a_volume_in_each_zone_and_the_sandbox_a_client(tmp_path: Path) -> None:
    path, config = tmp_path / "Pulumi.dev.yaml", tmp_path / "sandbox.toml"
    path.write_text((PROJECT / "Pulumi.dev.yaml").read_text(encoding="utf-8"), encoding="utf-8")
    with_server(path, MYSQL_GROUP, GROUND.zones)
    written = yaml.safe_load(path.read_text(encoding="utf-8"))["config"]
    own = {key.removeprefix("nomad-stateful:"): value for key, value in written.items() if "nomad-stateful:" in key}
    planned = plan.of(settings.parse(own), "nomad-stateful/dev")
    jobs = [job.job_id for job in planned.jobs if job.section == "mysql"]
    assert jobs == [f"{MYSQL_GROUP.job}-router", *MYSQL_GROUP.member_jobs]

    config.write_text(replace(GROUND, subnet=cast("Any", "10.174.9.0/24")).config, encoding="utf-8")
    sandbox = load_settings(
        {"NOMAD_STATEFUL_SANDBOX_CONFIG": str(config), "NOMAD_STATEFUL_SANDBOX_HOME": str(tmp_path)}
    )
    assert [spec.zone for spec in sandbox.instances] == GROUND.zones


def test_clients_take_the_first_router_that_leads_somewhere() -> None:
    tried: list[tuple[str, int]] = []

    def login(host: str, port: int, *_: object) -> str:
        tried.append((host, port))
        if host == "cut":
            raise OSError("no route")
        return host

    nomad = SimpleNamespace(get=lambda *_, **__: {"Items": {"root_password": "secret"}})
    routed = Routed(cast("Any", nomad), replace(MYSQL_GROUP, login=cast("Any", login)), hosts=["cut", "other", "last"])
    assert routed.login(3307) == "other"
    assert tried == [("cut", 3307), ("other", 3307)]
    routed.hosts = ["cut"]
    with pytest.raises(OSError, match="no route"):
        routed.login(3306)


class Replica:
    """A connection to a member that has some rows."""

    def __init__(self, *rows: int) -> None:
        self.rows = rows

    def cursor(self) -> Any:
        return self

    def commit(self) -> None: ...
    def close(self) -> None: ...
    def execute(self, *_: object) -> None: ...
    def fetchall(self) -> list[tuple[int]]:
        return [(row,) for row in self.rows]


def watch(monkeypatch: pytest.MonkeyPatch, newest: int, *acknowledged: int) -> Watch:
    monkeypatch.setattr(members, "addresses", lambda _: {})
    writer = SimpleNamespace(newest=newest, acknowledged=list(acknowledged))
    return Watch(cast("Any", SimpleNamespace(settings=None, writer=writer)))


def test_a_member_may_be_behind_for_a_while_and_not_for_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    watched = watch(monkeypatch, 4, 1, 2, 3)
    watched._read(Replica(1))
    assert watched.problems == []
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + members.STALE_S + 1)
    watched._read(Replica(1, 2, 3))
    assert watched.problems == []
    watched._read(Replica(1, 3))
    assert watched.problems == ["a read of a member lacked 1 rows acknowledged 15 s before: [2]"]


def test_a_row_that_nobody_wrote_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    watched = watch(monkeypatch, 4, 1, 2, 3)
    watched._read(Replica(1, 2, 3, 4))
    assert watched.problems == []
    watched._read(Replica(1, 5))
    assert watched.problems == ["a member was read to have the rows [5], which nobody had written"]
