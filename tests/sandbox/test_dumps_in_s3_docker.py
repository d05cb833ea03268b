"""Dumps that leave the zone where everything runs in containers: MySQL's image dumps, the agent's uploads."""

from collections.abc import Iterator

import pytest
import yaml

from tests import official_parts
from tests.sandbox.consuming import force_dump, sql, summary
from tests.sandbox.test_drill import drill, nothing_is_left
from tests.sandbox.test_dumps_in_s3 import PORT, operate, rows, set_s3
from tools.trial.running import Running

pytestmark = [pytest.mark.sandbox, pytest.mark.engine, pytest.mark.nomad, pytest.mark.nightly]


@pytest.fixture(scope="module")
def docker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    running = Running.prepare(tmp_path_factory.mktemp("docker"))
    with running.up("--docker", *official_parts.words()):
        set_s3(running, {"endpoint": f"http://{running.ground.gateway}:{PORT}"}, "docker")
        done = running.run("pulumi", "up", "--yes", "--skip-preview", "--non-interactive")
        assert done.returncode == 0, done.stdout + done.stderr
        yield running


def test_a_dump_is_copied_by_the_agents_image_and_restored_from_there(docker: Running) -> None:
    sql(docker, "CREATE DATABASE shop", "CREATE TABLE shop.orders (id INT PRIMARY KEY, what VARCHAR(20))")
    sql(docker, "INSERT INTO shop.orders VALUES (1, 'one'), (2, 'two')")
    assert summary(docker, force_dump(docker)) == {"Complete": 1}
    sql(docker, "DROP DATABASE shop")
    restored = operate(docker, "restore", "--yes", "--from", "s3")
    assert restored.returncode == 0, restored.stdout + restored.stderr
    assert rows(docker) == ((1, "one"), (2, "two"))


def test_a_drill_loads_it_into_an_empty_server_of_the_image(docker: Running) -> None:
    # Server ids of transactions are where a dump of MySQL can fail on another server.
    assert sql(docker, "SELECT @@GLOBAL.gtid_mode") == (("ON",),)
    sql(docker, "INSERT INTO shop.orders VALUES (3, 'three')")
    status, report, said = drill(docker, "--dump", "latest", "--newest", "SELECT MAX(id) FROM shop.orders")
    assert status == 0, said
    assert [one["rows"] for one in report["tables"] if one["name"] == "`shop`.`orders`"] == [2]
    assert rows(docker) == ((1, "one"), (2, "two"), (3, "three"))
    assert nothing_is_left(docker)
    print(f"server {report['server']}, RTO {report['rtoSeconds']} s, phases {report['phases']}")


def test_the_failover_watch_runs_in_the_agents_image(docker: Running) -> None:
    path = docker.project / "Pulumi.docker.yaml"
    whole = yaml.safe_load(path.read_text())
    whole["config"]["nomad-stateful:failover"] = {"count": 1}
    path.write_text(yaml.safe_dump(whole))
    # It is healthy once it may read in Nomad and EC2 what a failover needs to know.
    done = docker.run("pulumi", "up", "--yes", "--skip-preview", "--non-interactive")
    assert done.returncode == 0, done.stdout + done.stderr
    [found] = docker.nomad.get("job/failover/allocations", namespace="default")
    operator = {"NOMAD_TOKEN": docker.env.get("NOMAD_OPERATOR_TOKEN") or docker.env["NOMAD_TOKEN"]}
    said = docker.run("nomad", "alloc", "logs", found["ID"], more_env=operator)
    assert "watching the jobs of namespace default" in said.stdout, said.stdout + said.stderr
