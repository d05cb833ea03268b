"""MySQL as a group of three servers: the jobs that its settings come to."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote_plus

import pulumi
import pytest
from pulumi.runtime import mocks

from nomad_stateful.program import outputs, plan, settings
from nomad_stateful.program.plan.model import Plan
from nomad_stateful.program.settings import SettingsError
from nomad_stateful.program.wiring.turns import Turns
from tests.certificates import Authority
from tests.unit.program.recorder import record

ZONES = ["us-west-2a", "us-west-2b", "us-west-2c"]


def config(mysql: dict[str, Any] | None = None, volume: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "clientRole": "nomad-client",
        "agentImage": "agent:1",
        "plugins": [{"id": "aws-ebs0"}],
        "volumes": [{"name": "data", "count": 3, "zones": ZONES, "sizeGib": 1} | (volume or {})],
        "mysql": {"volume": "data", "group": {}} | (mysql or {}),
    }


def planned(**mysql: Any) -> Plan:
    return plan.of(settings.parse(config(mysql)), "nomad-stateful/dev")


def test_an_empty_section_is_a_group_and_a_missing_one_is_not() -> None:
    assert planned().database is not None
    assert [job.job_id for job in planned().jobs if job.section == "mysql"] == [
        "mysql-server-router",
        "mysql-server-1",
        "mysql-server-2",
        "mysql-server-3",
    ]
    assert [job.job_id for job in plan.of(settings.parse(dissolved()), "nomad-stateful/dev").jobs][-1] == "mysql-server"


def dissolved() -> dict[str, Any]:
    """Returns the settings of a group that is a single server again, and has its volumes still."""
    single = config({"databases": ["shop"]})
    del single["mysql"]["group"]
    return single


def test_a_single_server_is_on_the_first_of_a_set_that_a_group_could_have() -> None:
    single = plan.of(settings.parse(dissolved()), "nomad-stateful/dev")
    assert single.database is not None
    assert str(single.database.server["volume"]["volume_id"]) == "data[0]"
    assert Plan.from_json(single.to_json()) == single
    two = dissolved()
    two["volumes"][0] |= {"count": 2, "zones": ZONES[:2]}
    with pytest.raises(SettingsError, match="this is a set, and MySQL has a single volume"):
        settings.parse(two)


def test_each_member_is_in_the_zone_of_its_own_volume() -> None:
    members = [job for job in planned().jobs if job.spec == "database"]
    assert [str(job.variables["volume"]["id"]) for job in members] == ["data[0]", "data[1]", "data[2]"]
    assert [[part.name for part in job.parts] for job in members] == [[zone] for zone in ZONES]
    assert [job.variables["group"]["member"] for job in members] == [job.job_id for job in members]


def test_the_routers_have_the_port_that_clients_know() -> None:
    (router,) = [job for job in planned(port=3310).jobs if job.spec == "database-router"]
    assert (router.job_id, router.variables["service"]["port"], router.on_every_client) == (
        "mysql-server-router",
        3310,
        True,
    )
    assert router.variables["service"]["name"] == "mysql-server"


def test_a_member_outlives_nomads_servers_unless_a_time_is_set() -> None:
    def times(**mysql: Any) -> set[str]:
        members = [job for job in planned(**mysql).jobs if job.spec == "database"]
        return {job.variables["disconnect"]["stop_on_client_after"] for job in members}

    assert times() == {""}
    assert times(stopAfterDisconnect="1m") == {"1m"}
    assert times(stopAfterDisconnect="never") == {""}


def test_a_member_begins_nothing_by_itself() -> None:
    member = next(job for job in planned().jobs if job.spec == "database")
    options = member.variables["files"]["my.cnf"]
    assert "loose-group_replication_start_on_boot = OFF" in options
    assert "bootstrap" not in options
    assert member.variables["accounts"]["files"] == {}


@pytest.mark.parametrize("size", [0, "1G", 2_147_483_647])
def test_each_member_has_the_limit_of_a_transaction_as_it_is_set(size: int | str) -> None:
    made = planned(config={"loose_group_replication_transaction_size_limit": size})
    files = [job.variables["files"]["my.cnf"] for job in made.jobs if job.spec == "database"]
    assert [f"\nloose_group_replication_transaction_size_limit = {size}\n" in text for text in files] == [True] * 3


def test_dumps_read_from_where_reads_go_and_a_restore_writes_to_the_primary() -> None:
    backup = {"volume": "dumps", "schedule": "@daily"}
    own = config({"backup": backup})
    own["volumes"].append({"name": "dumps", "zone": ZONES[0], "sizeGib": 1})
    made = record(own)
    for name, service in (("mysql-backup", "mysql-server-read"), ("mysql-backup-restore", "mysql-server")):
        assert f'nomadService \\"{service}\\" }}' in made[f"{name}-job"].inputs["hcl2"]["vars"]["client"]


def test_nomad_gives_each_variable_of_a_job_back_as_it_was() -> None:
    """It decodes them as a URL's when the engine refreshes the job, or answers `invalid URL escape`."""
    own = config({"backup": {"volume": "dumps", "schedule": "@daily"}, "databases": ["shop"]})
    own["mysql"]["users"] = [{"name": "app", "database": "shop"}]
    own |= {"metrics": True}
    own["volumes"].append({"name": "dumps", "zone": ZONES[0], "sizeGib": 1})
    found = {name: made.inputs["hcl2"]["vars"] for name, made in record(own).items() if "hcl2" in made.inputs}
    assert {"mysql-server-1-job", "mysql-job", "mysql-backup-job", "mysql-metrics-job"} <= set(found)
    assert [name for name, values in found.items() if unquote_plus(str(values)) != str(values)] == []


def test_each_member_copies_its_logs_to_one_place_with_an_account_that_the_primary_makes() -> None:
    members = [job for job in planned(pointInTime={"s3": {"bucket": "logs-of-shop"}}).jobs if job.spec == "database"]
    copies = [job.variables["binlogs"] for job in members]
    assert [(one["bucket"], one["account"]) for one in copies] == [("logs-of-shop", "binlogs")] * 3
    assert all(one == copies[0] for one in copies)
    for job in members:
        assert "GRANT RELOAD ON *.* TO 'binlogs'@'%'" in job.variables["group"]["files"]["accounts.sql"]
        assert job.variables["accounts"]["files"] == {}


def test_the_plan_of_a_group_is_itself_after_a_way_through_json() -> None:
    made = planned(databases=["shop"])
    assert Plan.from_json(made.to_json()) == made


def test_the_stack_says_who_the_members_are() -> None:
    made = planned(group={"readPort": 3399})
    assert made.database is not None
    assert made.database.group is not None
    members = [
        {"job": f"mysql-server-{number + 1}", "zone": zone, "volume": f"data[{number}]"}
        for number, zone in enumerate(ZONES)
    ]
    services = {"service": "mysql-server", "readPort": 3399, "readService": "mysql-server-read", "maxLagS": 10}
    assert outputs.group(made, made.database.group) == {
        "job": "mysql-server-router",
        "group": {"members": members, **services},
    }


def test_the_members_are_told_who_begins_and_the_routers_come_with_the_first_one() -> None:
    made = record(config({"databases": ["shop"], "users": [{"name": "app", "database": "shop"}]}))
    for number in (1, 2, 3):
        variables = made[f"mysql-server-{number}-job"].inputs["hcl2"]["vars"]
        assert json.loads(variables["group"])["id"] == "group-1"
        assert json.loads(variables["group"])["first"] == "mysql-server-1"
        items = made[f"mysql-server-{number}-variable"].inputs["items"]["value"]
        assert items.keys() == {"root_password", "password_app", "password_nomad_group"}
    assert made["mysql-job"].inputs["jobspec"].count('job "database-router"') == 1


def test_a_new_certificate_waits_for_the_other_members_as_any_change_does(tmp_path: Path) -> None:
    def gates(folder: Path) -> list[str]:
        names = ",".join(f"DNS:mysql-server-{number}" for number in (1, 2, 3))
        own = Authority.made(folder, names)
        given = {"certificate": own.read("server-cert.pem"), "key": "private", "ca": own.read("ca.pem")}
        found = record(config({"tlsCertificate": given})).items()
        return [
            made.inputs["triggers"]["job"]
            for name, made in found
            if name.startswith("mysql-server-") and "-release-" in name
        ]

    before, after = gates(tmp_path / "before"), gates(tmp_path / "after")
    assert (len(before), set(before) & set(after)) == (3, set())


def test_the_members_of_a_new_group_start_together_and_the_first_waits_for_all() -> None:
    made = record(config())
    serving = [made[f"mysql-server-{number}-health"].inputs.get("serving") for number in (1, 2, 3)]
    assert serving == [None, ["mysql-server", "mysql-server-1"], ["mysql-server", "mysql-server-1"]]


def test_an_up_waits_for_the_routers_too() -> None:
    health = record(config())["mysql-health"].inputs
    assert (health["jobId"], health["group"]) == ("mysql-server-router", "router")


@pytest.fixture
def aliases(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[tuple[str, str]]]:
    """Names and parents that resources had before, as they are registered."""
    found: dict[str, list[tuple[str, str]]] = {}
    register = mocks.MockMonitor.RegisterResource

    def noted(self: mocks.MockMonitor, request: Any) -> Any:
        found[request.name] = [(one.spec.name, one.spec.parentUrn) for one in request.aliases]
        return register(self, request)  # type: ignore[no-untyped-call]

    monkeypatch.setattr(mocks.MockMonitor, "RegisterResource", noted)
    return found


def test_the_first_member_takes_the_place_of_a_single_server(aliases: dict[str, list[tuple[str, str]]]) -> None:
    """With its gate, its job, its passwords, and the group's record where one was being dissolved; others are new."""
    record(config())
    earlier = "urn:pulumi:test::nomad-stateful::nomad-csi:index:MysqlServer::mysql"
    assert [name for name, known in aliases.items() if ("mysql", "") in known] == ["mysql-server-1"]
    assert [name for name, known in aliases.items() if ("", earlier) in known] == [
        "mysql-password",
        "mysql-password-nomad_group",
        "mysql-group",
    ]


def test_a_single_server_takes_the_place_of_the_group_and_its_gate_that_of_the_first_member(
    aliases: dict[str, list[tuple[str, str]]],
) -> None:
    made = record(dissolved())
    group = made["mysql-group"].inputs
    assert (group["dissolved"], group["candidate"]) == (True, "mysql-server-1")
    assert group["others"] == ["mysql-server-2", "mysql-server-3"]
    member = "urn:pulumi:test::nomad-stateful::nomad-csi:index:MysqlGroup$nomad-csi:index:MysqlServer::mysql-server-1"
    assert ("mysql-server-1-release-data", member) in aliases["mysql-release-data"]
    group_urn = "urn:pulumi:test::nomad-stateful::nomad-csi:index:MysqlGroup::mysql"
    for name in ("mysql-password", "mysql-group"):
        assert ("", group_urn) in aliases[name]
    assert made["mysql-job"].inputs["jobspec"].count('job "database"') == 1


def test_a_members_volume_is_registered_once_the_member_before_serves() -> None:
    """Where all are registered anew, as with other mount flags, each member stops when the one before is back."""
    made = list(record(config()))
    chain = [
        "volume-data[1]-registration",
        "mysql-server-2-health",
        "volume-data[2]-registration",
        "mysql-server-3-health",
        "volume-data[0]-registration",
        "mysql-server-1-health",
    ]
    assert sorted(chain, key=made.index) == chain


def test_a_program_that_fails_before_its_members_are_made_ends(loop: asyncio.AbstractEventLoop) -> None:
    async def waits() -> list[pulumi.Resource | BaseException]:
        database = planned().database
        assert database is not None
        turns = Turns(database.group)
        with pytest.raises(RuntimeError), turns:
            raise RuntimeError("the program's own")
        return await asyncio.gather(*turns.of_volumes.values(), return_exceptions=True)

    assert [str(said) for said in loop.run_until_complete(waits())] == ["the program's own"] * 2
