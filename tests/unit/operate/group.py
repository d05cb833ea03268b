"""A stack whose database is a replication group, and what its members' agents say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any
from urllib.parse import urlsplit

import pytest

from nomad_stateful.nomad.group_members import MemberState
from nomad_stateful.operate import group, stack
from tests.fake_nomad import FakeNomad
from tests.fake_nomad.server import Reply, Request, serving

ZONES = ("us-west-2a", "us-west-2b", "us-west-2c")
MEMBERS = [
    {"job": f"mysql-server-{number}", "zone": zone, "volume": f"mysql[{number - 1}]"}
    for number, zone in enumerate(ZONES, 1)
]
OUTPUTS: dict[str, Any] = {
    "volumes": {
        one["volume"]: {"id": f"vol-{number}", "nomadId": one["volume"], "zone": one["zone"], "plugin": "ebs"}
        for number, one in enumerate(MEMBERS)
    },
    "plugins": {"ebs": {}},
    "mysql": {
        "job": "mysql-server-router",
        "namespace": "default",
        "zone": None,
        "volume": "mysql",
        "user": "root",
        "tls": "preferred",
        "group": {
            "members": MEMBERS,
            "service": "mysql-server",
            "readPort": 3307,
            "readService": "mysql-server-read",
            "maxLagS": 10,
        },
    },
    "mysqlBackup": {"job": "mysql-backup", "restoreJob": "mysql-backup-restore", "s3": ""},
}


def server() -> stack.DatabaseOutputs:
    found = stack.DatabaseOutputs.of(OUTPUTS)
    assert found is not None
    return found


def said(name: str, **more: Any) -> dict[str, Any]:
    """What an agent of a secondary that is well says."""
    well = {"name": name, "state": "ONLINE", "role": "SECONDARY", "read_only": True, "majority": True, "lag_s": 0.0}
    members = [{"host": one["job"], "state": "ONLINE", "role": "SECONDARY"} for one in MEMBERS]
    return well | {"disk": "", "members": members} | more


class Agents:
    """The agents of three members, of which the second is the primary; a test changes what they say."""

    def __init__(self, nomad: FakeNomad, running: ExitStack) -> None:
        self.nomad = nomad
        self.say: dict[str, Any] = {one["job"]: said(one["job"]) for one in MEMBERS}
        self.say["mysql-server-2"] |= {"role": "PRIMARY", "read_only": False}
        for number, one in enumerate(MEMBERS, 1):
            self.place(one["job"], number, "mysql", agent=running.enter_context(serving(self._answer(one["job"]))))
        self.place("mysql-server-router", 1, "router")

    def states(self) -> list[MemberState]:
        """What the command makes of what they say."""
        return group.states(self.nomad.api, server())

    def _answer(self, job: str) -> Any:
        def reply(request: Request) -> Reply:
            assert request.path == "/"
            found = self.say[job]
            return Reply(200, found if isinstance(found, str) else json.dumps(found))

        return reply

    def place(self, job: str, number: int, task_group: str, *, agent: str = "") -> None:
        """Has one allocation of a job run, with the port db and the agent's."""
        port = 3306 if task_group == "router" else 13306
        ports: list[dict[str, Any]] = [{"Label": "db", "HostIP": f"10.0.0.{number}", "Value": port}]
        if agent:
            ports.append({"Label": "agent", "HostIP": "127.0.0.1", "Value": urlsplit(agent).port})
        stub: dict[str, Any] = {"ID": f"{job}-a", "JobID": job, "TaskGroup": task_group, "CreateIndex": 7}
        stub |= {"NodeID": f"n{number}", "NodeName": f"client-{number}"}
        stub |= {"DesiredStatus": "run", "ClientStatus": "running"}
        addresses = ",".join(f"{job}:1" for job in self.say)
        told = ["group", "--group=g", "--first=mysql-server-1", f"--members={addresses}"]
        tasks = [{"Name": "group", "Config": {"args": told}}] if agent else [{"Name": "router"}]
        groups = [{"Name": task_group, "Count": 1, "Tasks": tasks}]
        kind = "service" if agent else "system"
        self.nomad.put(f"job/{job}", {"Type": kind, "Status": "running", "Stop": False, "TaskGroups": groups})
        self.nomad.put(f"job/{job}/allocations", [stub])
        self.nomad.put(f"allocation/{job}-a", stub | {"AllocatedResources": {"Shared": {"Ports": ports}}})


@pytest.fixture
def agents(nomad: FakeNomad, monkeypatch: pytest.MonkeyPatch) -> Iterator[Agents]:
    """The stack of the command, and its members."""
    monkeypatch.setattr(stack, "outputs", lambda: OUTPUTS)
    with ExitStack() as running:
        yield Agents(nomad, running)
