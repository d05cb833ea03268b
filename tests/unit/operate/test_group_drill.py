"""A drill of a member's snapshot: its server starts alone."""

from __future__ import annotations

import json
from typing import Any

import pytest

from nomad_stateful.databases.catalogue import DATABASES
from nomad_stateful.operate.drill import dumps
from nomad_stateful.operate.drill import job as jobs
from nomad_stateful.operate.drill.model import DrillError, Options, Target
from tests.unit.operate.group import MEMBERS, OUTPUTS, server
from tests.unit.operate.test_drill import PARSED

GROUP = {"member": "", "id": "7a2e", "members": [one["job"] for one in MEMBERS], "files": {"replication.cnf": "secret"}}


class Nomad:
    """Reads job files, and says what it was given; it has the job that restores dumps."""

    def __init__(self) -> None:
        self.given: dict[str, Any] = {}

    def put(self, path: str, body: dict[str, Any], **_more: Any) -> Any:
        assert path == "jobs/parse"
        assert body["JobHCL"] == "of a member"
        self.given = {name: json.loads(text) for name, text in (line.split(" = ", 1) for line in _lines(body))}
        return json.loads(json.dumps(PARSED))

    def find(self, path: str, **_more: Any) -> Any:
        assert path == "job/mysql-backup-restore"
        return {"ID": "mysql-backup-restore", "TaskGroups": [{"Tasks": [{"Name": jobs.FETCH}]}]}


def _lines(body: dict[str, Any]) -> list[str]:
    return str(body["Variables"]).splitlines()


def target(volume: str) -> Target:
    return Target(
        volume, "vol-1", f"shop/prod/{volume}", "drill-1", "drill", "z", "ebs", "zone", kind=DATABASES["mysql"]
    )


def state() -> list[dict[str, Any]]:
    """The state's jobs: the routers', and the members'."""
    own = {"volume": {"id": "v"}, "tls": {"certificate": False}, "job": {"id": "j", "namespace": "default"}}
    found = [{"type": "nomad:index/job:Job", "id": "mysql-server", "inputs": {"jobspec": "of the routers"}}]
    for one in MEMBERS:
        variables = {**own, "group": {**GROUP, "member": one["job"]}, "server": {"of": one["job"]}}
        given = {"vars": {name: json.dumps(value) for name, value in variables.items()}}
        found.append(
            {"type": "nomad:index/job:Job", "id": one["job"], "inputs": {"jobspec": "of a member", "hcl2": given}}
        )
    return found


@pytest.mark.parametrize(
    ("volume", "member"), [("mysql[0]", "mysql-server-1"), ("mysql[2]", "mysql-server-3"), ("other", "mysql-server-1")]
)
def test_the_server_is_the_members_without_what_would_have_it_join(volume: str, member: str) -> None:
    nomad = Nomad()
    made = jobs.of_server(nomad, state(), server(), target(volume), Options(volume))  # type: ignore[arg-type]
    assert nomad.given["server"] == {"of": member}
    assert nomad.given["group"] == {**GROUP, "files": {}}
    assert "--loose-group-replication-start-on-boot=OFF" in made["TaskGroups"][0]["Tasks"][0]["Config"]["args"]


def test_a_dump_of_the_group_is_drilled_as_of_any_members_volume(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(OUTPUTS["mysqlBackup"], "s3", "s3://dumps/shop/")
    for volume in ("mysql[0]", "mysql[2]"):
        assert dumps.restore_job(server(), Nomad(), target(volume))[0] == "mysql-backup"  # type: ignore[arg-type]
    with pytest.raises(DrillError, match="volume other is not MySQL's"):
        dumps.restore_job(server(), Nomad(), target("other"))  # type: ignore[arg-type]
