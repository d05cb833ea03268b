"""Every alert of a replication group fires when its cause happens, and clears when it is cured: as test_alerts.py."""

import json
import shlex
from collections.abc import Iterator
from dataclasses import replace

import pytest
import yaml

from tests.sandbox.alerts import acting
from tests.sandbox.alerts.causes import Cause
from tests.sandbox.alerts.group_causes import GROUP_CAUSES, members, signalled
from tests.sandbox.alerts.prometheus import Watch, missing, watched
from tools.faults.stack_settings import with_server
from tools.trial.ground import claim
from tools.trial.running import Running, eventually
from tools.trial.servers import MYSQL_GROUP

pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.engine,
    pytest.mark.nomad,
    pytest.mark.nightly,
    pytest.mark.skipif(bool(missing()), reason=missing()),
]
WELL_S = 300
WELL = "sum(nomad_stateful_group_member_online) == 3 and sum(nomad_stateful_group_router_primary) == 3"


@pytest.fixture(scope="module")
def watch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watch]:
    running = Running.prepare(tmp_path_factory.mktemp("project"), replace(claim(), servers=3, clients=3))
    path = running.project / "Pulumi.dev.yaml"
    with_server(path, MYSQL_GROUP, running.ground.zones)
    whole = yaml.safe_load(path.read_text())
    whole["config"]["nomad-stateful:metrics"] = {"mysql": {"image": "prom/mysqld-exporter:v0"}, "volumes": False}
    path.write_text(yaml.safe_dump(whole))
    running.server = MYSQL_GROUP
    with running.up("--all-images"), watched(running, tmp_path_factory.mktemp("watch")) as watch:
        yield watch


@pytest.mark.parametrize("cause", GROUP_CAUSES, ids=lambda one: one.name)
def test_an_alert_of_a_group_fires_and_clears(watch: Watch, cause: Cause) -> None:
    eventually(lambda: watch.prometheus.query(WELL) or None, WELL_S, "the group is well")
    print(*cause.happen(watch), sep=" | ", flush=True)


def test_a_member_that_never_comes_back_is_given_up_as_recover_says(watch: Watch) -> None:
    stack = watch.stack
    create = ("CREATE DATABASE kept", "CREATE TABLE kept.one (id INT PRIMARY KEY)", "INSERT INTO kept.one VALUES (7)")
    stack.sql(stack.server_endpoint(), *create)
    lost, *others = members(watch).items()
    acting.run(watch, "nomad", "job", "stop", lost[0])
    signalled(watch, "KILL", *(at.node_name for _, at in others))

    def told() -> list[dict[str, str]] | None:
        found = json.loads(acting.operate(watch, "recover", "--json", status=1))["groups"]
        return found[0]["steps"] if "begins with what it has" in json.dumps(found) else None

    explain, _, give_up = eventually(told, WELL_S, "the plan")
    assert explain["command"] == f"nomad-stateful explain {lost[0]}"
    stop, _, delete, up = map(shlex.split, give_up["command"].split(" && "))
    acting.run(watch, *stop)
    # In the place of the AWS CLI.
    stack.ec2.get_waiter("volume_available").wait(VolumeIds=[delete[-1]])
    stack.ec2.delete_volume(VolumeId=delete[-1])
    acting.run(watch, *up, "--yes", "--skip-preview", "--non-interactive")
    eventually(lambda: watch.prometheus.query(WELL) or None, WELL_S, "the group is well")
    for at in members(watch).values():
        assert stack.sql(at, "SELECT id FROM kept.one") == [(7,)]


def test_the_exporter_follows_the_primary_and_every_member_is_seen(watch: Watch) -> None:
    def seen() -> bool | None:
        known = watch.prometheus.query(f'mysql_up{{server="{MYSQL_GROUP.job}"}} == 1')
        writes = watch.prometheus.query("mysql_global_variables_read_only == 0")
        return (len(known), len(writes)) == (1, 1) or None

    eventually(seen, WELL_S, "the exporter sees a server that takes writes")
    assert {one["metric"]["member"] for one in watch.prometheus.query("nomad_stateful_group_member_online")} == set(
        MYSQL_GROUP.member_jobs
    )
