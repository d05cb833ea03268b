"""A single server becomes a group with its very volume, and goes back, under a writer; a closed port stops nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nomad_stateful.nomad.running_job import Endpoint
from tools.faults.pauses import Pauses
from tools.faults.stack_settings import StackSettings, with_server
from tools.faults.writer import Served, Writer
from tools.trial.ground import claim
from tools.trial.members import MEMBER_PORT
from tools.trial.running import Running, ended_well
from tools.trial.servers import MYSQL_GROUP

pytestmark = [pytest.mark.sandbox, pytest.mark.engine, pytest.mark.nomad, pytest.mark.nightly]
CLIENTS = ("client-1", "client-2", "client-3")
TIMEOUT_S = 60
"""For a member that does not come to be healthy; a clone of nothing takes a few seconds."""


class Found(Served):
    """The database by its service, whether a server's or the routers'."""

    password = ""

    def _login(self, namespace: str, job: str) -> Any:
        error: Exception = ConnectionError(f"no service {job} is registered")
        for service in self.nomad.get(f"service/{job}", namespace=namespace):
            try:
                return self.server.login(service["Address"], service["Port"], self.password, 5)
            except self.server.errors as refused:
                error = refused
        raise error


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    running = Running.prepare(tmp_path_factory.mktemp("project"), replace(claim(), servers=3, clients=3))
    with running.up("--all-images") as stack:
        yield stack


def update(stack: Running) -> None:
    ended_well(up(stack))


def up(stack: Running) -> Any:
    return stack.run("pulumi", "up", "--yes", "--skip-preview", "--non-interactive", timeout_s=600)


def volume_id(stack: Running) -> str:
    """The EC2 volume that is the database's first."""
    [found] = [one["ID"] for one in stack.nomad.get("volumes", type="csi") if one["ID"] in ("mysql", "mysql[0]")]
    return str(stack.nomad.get(f"volume/csi/{found}")["ExternalID"])


def test_a_single_server_becomes_a_group_and_goes_back_under_a_writer(stack: Running, tmp_path: Path) -> None:
    path, volume = stack.project / "Pulumi.dev.yaml", volume_id(stack)
    found = Found(stack.nomad)
    found.password = stack.outputs()["mysqlPassword"]
    writer = Writer(found, tmp_path)
    writer.begin()
    writer.await_new(100, 60)
    with_server(path, MYSQL_GROUP, stack.ground.zones)
    group = StackSettings.read(path)
    group.database["timeoutS"] = TIMEOUT_S
    alone = group.copy()
    del alone.database["group"]

    # Members that cannot reach each other stop no server.
    group.write(path)
    rule = ("PREROUTING", "--table", "mangle", "--protocol", "tcp", "--dport", str(MEMBER_PORT), "--jump", "DROP")
    for client in CLIENTS:
        stack.ctl("enter", client, "iptables", "--insert", *rule)
    with Pauses(writer) as pauses:
        refused = up(stack)
        assert refused.returncode != 0
        said = refused.stdout + refused.stderr
        assert "mysql-server-2 does not answer it" in said, said
        writer.await_new(3, 60)
    assert pauses.longest_s < 5
    print(f"longest pause while members could not reach each other: {pauses.longest_s:.1f} s")
    for client in CLIENTS:
        stack.ctl("enter", client, "iptables", "--delete", *rule)

    with Pauses(writer) as pauses:
        update(stack)
        writer.await_new(100, 60)
    print(f"longest pause until it was a group: {pauses.longest_s:.1f} s")
    acknowledged = set(writer.acknowledged)
    for at in members(stack):
        rows = {row for (row,) in stack.sql(at, "SELECT number FROM faults.acknowledged")}
        assert acknowledged <= rows
    assert volume_id(stack) == volume

    alone.write(path)
    with Pauses(writer) as pauses:
        update(stack)
        writer.await_new(100, 60)
    print(f"longest pause until it was a single server: {pauses.longest_s:.1f} s")
    assert writer.lost() == set()
    assert volume_id(stack) == volume
    writer.end()


def members(stack: Running) -> list[Endpoint]:
    hosts = [stack.nomad.get(f"service/{job}")[0]["Address"] for job in MYSQL_GROUP.member_jobs]
    return [Endpoint("", "", "", host, MEMBER_PORT) for host in hosts]
