"""Programs on volumes: every extra of MySQL, its dumps, and a volume for each instance, through purges and back."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pymysql
import pytest
import yaml

from tests.sandbox.consuming import force_dump, restore, sql, stack_with_consumers, summary
from tools.trial.running import Running, eventually

pytestmark = [pytest.mark.sandbox, pytest.mark.engine, pytest.mark.nomad]

ROWS = ((1, "a"), (2, "b"))


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with stack_with_consumers(tmp_path_factory.mktemp("project")) as running:
        yield running


def instances(stack: Running, job: str) -> dict[int, dict[str, Any]]:
    """Running allocations of a job by their index."""
    stubs = stack.nomad.get(f"job/{job}/allocations")
    running = [stub for stub in stubs if stub["ClientStatus"] == "running" and stub["DesiredStatus"] == "run"]
    return {int(stub["Name"].rpartition("[")[2].rstrip("]")): stub for stub in running}


def in_task(stack: Running, allocation: str, *command: str) -> str:
    done = stack.in_task(allocation, *command)
    assert done.returncode == 0, done.stderr
    return done.stdout


def greetings(stack: Running, job: str = "logs") -> dict[int, list[str]]:
    return {
        index: in_task(stack, stub["ID"], "cat", "/log/greetings").splitlines()
        for index, stub in instances(stack, job).items()
    }


def test_a_preview_after_up_is_empty_with_and_without_a_refresh(stack: Running) -> None:
    for more in ([], ["--refresh"]):
        preview = stack.run("pulumi", "preview", *more, "--expect-no-changes", "--non-interactive")
        assert preview.returncode == 0, preview.stdout + preview.stderr


def test_the_server_has_the_configured_options(stack: Running) -> None:
    assert sql(stack, "SELECT @@max_connections, @@event_scheduler") == ((77, "ON"),)


def test_init_scripts_ran_once_in_the_order_of_their_names(stack: Running) -> None:
    assert sql(stack, "SELECT * FROM first.letters") == ROWS


def test_a_login_is_encrypted_by_the_servers_own_certificate_and_refused_in_the_clear(stack: Running) -> None:
    ((_, cipher),) = sql(stack, "SHOW STATUS LIKE 'Ssl_cipher'")
    assert cipher
    with pytest.raises(pymysql.err.OperationalError):
        sql(stack, "SELECT 1", encrypted=False)


def test_the_operators_client_logs_in_where_encryption_is_required(stack: Running) -> None:
    words = ("--batch", "--skip-column-names", "--execute=SELECT CURRENT_USER(), @@require_secure_transport")
    shown = stack.run(stack.python, "-m", "nomad_stateful.operate", "mysql", "--", *words)
    assert shown.stdout == "root@localhost\t1\n", shown.stderr


def test_a_configured_user_may_use_its_database_and_no_other(stack: Running) -> None:
    password = stack.outputs()["mysqlUserPasswords"]["shop"]
    table = ("CREATE TABLE IF NOT EXISTS shop_1.t (i INT PRIMARY KEY)", "REPLACE INTO shop_1.t VALUES (5)")
    assert sql(stack, *table, "SELECT * FROM shop_1.t", user="shop", password=password) == ((5,),)
    with pytest.raises(pymysql.err.OperationalError, match="denied"):
        sql(stack, "SELECT * FROM first.letters", user="shop", password=password)


def test_a_dump_that_is_restored_gives_the_rows_back(stack: Running) -> None:
    assert summary(stack, force_dump(stack)) == {"Complete": 1}
    sql(stack, "DELETE FROM first.letters", "DROP DATABASE shop_1")
    assert summary(stack, restore(stack, "latest")) == {"Complete": 1}
    assert sql(stack, "SELECT * FROM first.letters") == ROWS
    password = stack.outputs()["mysqlUserPasswords"]["shop"]
    assert sql(stack, "SELECT * FROM shop_1.t", user="shop", password=password) == ((5,),)


def test_a_restore_of_a_dump_that_is_not_there_fails_and_changes_nothing(stack: Running) -> None:
    assert summary(stack, restore(stack, "../../etc/passwd")) == {"Failed": 1}
    assert sql(stack, "SELECT * FROM first.letters") == ROWS


def test_no_password_is_in_a_job_or_on_a_command_line(stack: Running) -> None:
    known = stack.outputs()
    secrets = [known["mysqlPassword"], *known["mysqlUserPasswords"].values(), "whispered"]
    for stub in stack.nomad.get("jobs", namespace="*"):
        job = str(stack.nomad.get(f"job/{stub['ID'].replace('/', '%2F')}"))
        assert not [secret for secret in secrets if secret in job], stub["ID"]
    shown = stack.run("ps", "-eo", "args").stdout
    assert not [secret for secret in secrets if secret in shown]


def test_each_instance_has_a_volume_of_its_own(stack: Running) -> None:
    running = instances(stack, "logs")
    assert sorted(running) == [0, 1]
    for index, stub in running.items():
        claims = stack.nomad.get(f"volume/csi/log[{index}]")["Allocations"]
        assert [claim["ID"] for claim in claims if claim["ClientStatus"] == "running"] == [stub["ID"]]
        assert greetings(stack)[index][-1] == f"hello whispered {index} {stub['ID']}"


def claimed(stack: Running) -> list[str]:
    """Volumes that an allocation still claims."""
    volumes = [stack.nomad.get(f"volume/csi/{quote(name, safe='')}") for name in ("mysql", "log[0]", "log[1]")]
    return [volume["ID"] for volume in volumes if volume["WriteAllocs"]]


def test_rows_and_files_outlive_a_purge_and_a_redeploy(stack: Running) -> None:
    before = greetings(stack)
    for job in ("logs", "mysql-server"):
        purge = stack.run("nomad", "job", "stop", "-purge", job)
        assert purge.returncode == 0, purge.stderr
    # Asked to detach a volume before the purged job's task has ended, the driver tries for two minutes, for each anew.
    eventually(lambda: not claimed(stack) or None, 420, "the volumes released", lambda: "\n".join(claimed(stack)))
    up = stack.run("pulumi", "up", "--refresh", "--yes", "--skip-preview", "--non-interactive", timeout_s=600)
    assert up.returncode == 0, up.stdout + up.stderr
    after = greetings(stack)
    for index in (0, 1):
        assert after[index][:-1] == before[index]
        assert after[index][-1] != before[index][-1]
    assert sql(stack, "SELECT * FROM first.letters") == ROWS


def test_a_count_beyond_the_set_is_refused_at_preview(stack: Running) -> None:
    whole = yaml.safe_load((stack.project / "Pulumi.dev.yaml").read_text())
    whole["config"]["nomad-stateful:consumers"][0]["count"] = 3
    changed = stack.project / "changed.yaml"
    changed.write_text(yaml.safe_dump(whole))
    preview = stack.run("pulumi", "preview", "--non-interactive", "--config-file", str(changed))
    assert preview.returncode != 0
    assert "consumers.logs.count is 3: the set log has 2 volumes" in preview.stdout + preview.stderr


def test_destroy_leaves_nothing(stack: Running) -> None:
    destroy = stack.run("pulumi", "destroy", "--yes", "--skip-preview", "--non-interactive")
    assert destroy.returncode == 0, destroy.stdout + destroy.stderr
    assert stack.nomad.get("volumes", type="csi") == []
    managed = [{"Name": "tag-key", "Values": ["ebs.csi.aws.com/cluster"]}]
    assert stack.ec2.describe_volumes(Filters=managed)["Volumes"] == []
    left = [job["ID"] for job in stack.nomad.get("jobs") if job["Status"] != "dead"]
    assert left == []
