"""Programs on volumes: every extra of MySQL, its dumps, and a volume for each instance, through purges and back."""

import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pymysql
import pytest
import yaml

from tests.certificates import Authority
from tools.trial.running import PROJECT, Running, eventually

pytestmark = [pytest.mark.sandbox, pytest.mark.engine, pytest.mark.nomad]

ROWS = ((1, "a"), (2, "b"))


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    running = Running.prepare(tmp_path_factory.mktemp("project"))
    configure(running)
    with running.up():
        yield running


def configure(running: Running) -> None:
    """The sandbox stack with what this test adds."""
    path = running.project / "Pulumi.dev.yaml"
    whole = yaml.safe_load(path.read_text())
    more = yaml.safe_load((PROJECT / "tests/sandbox/consumers.yaml").read_text())
    config = whole["config"]
    config["nomad-stateful:volumes"] = more["volumes"]
    config["nomad-stateful:mysql"].update(more["mysql"])
    config["nomad-stateful:consumers"] = more["consumers"]
    path.write_text(yaml.safe_dump(whole))


def sql(
    stack: Running, *statements: str, user: str = "root", password: str = "", encrypted: bool = True
) -> tuple[tuple[Any, ...], ...]:
    """Runs statements, committed; the last one's rows."""
    known = stack.outputs()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # The server's own certificate is signed by nobody that this machine knows.
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with (
        pymysql.connect(
            host=stack.mysql_endpoint().host,
            port=stack.mysql_endpoint().port,
            user=user,
            password=password or known["mysqlPassword"],
            autocommit=True,
            connect_timeout=5,
            ssl=context if encrypted else None,
            ssl_disabled=not encrypted,
        ) as connection,
        connection.cursor() as cursor,
    ):
        for statement in statements:
            cursor.execute(statement)
        return tuple(cursor.fetchall())


def ssl_certificate(stack: Running, host: str, port: int) -> bytes:
    """The certificate that the server shows, in DER."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    password = stack.outputs()["mysqlPassword"]
    connection: Any = pymysql.connect(host=host, port=port, user="root", password=password, ssl=context)
    with connection:
        shown: bytes = connection._sock.getpeercert(binary_form=True)
        return shown


def newest_child(stack: Running, parent: str) -> dict[str, Any]:
    """The newest job that a periodic or parameterized one started, once it has ended."""

    def probe() -> dict[str, Any] | None:
        children = [job for job in stack.nomad.get("jobs", prefix=f"{parent}/") if job["ParentID"] == parent]
        newest = max(children, key=lambda job: int(job["CreateIndex"]), default=None)
        return newest if newest is not None and newest["Status"] == "dead" else None

    return eventually(probe, 240, f"a finished run of {parent}", stack.diagnosis)


def summary(stack: Running, job: dict[str, Any]) -> dict[str, int]:
    found = stack.nomad.get(f"job/{job['ID'].replace('/', '%2F')}/summary")
    (group,) = found["Summary"].values()
    return {state: count for state, count in group.items() if count}


def force_dump(stack: Running) -> dict[str, Any]:
    before = stack.nomad.get("jobs", prefix="mysql-backup/")
    stack.nomad.put("job/mysql-backup/periodic/force", {})

    def probe() -> dict[str, Any] | None:
        child = newest_child(stack, "mysql-backup")
        return child if child["ID"] not in {job["ID"] for job in before} else None

    return eventually(probe, 240, "a new dump")


def restore(stack: Running, dump: str) -> dict[str, Any]:
    answer = stack.nomad.put("job/mysql-backup-restore/dispatch", {"Meta": {"dump": dump}})

    def probe() -> dict[str, Any] | None:
        job = stack.nomad.get(f"job/{answer['DispatchedJobID'].replace('/', '%2F')}")
        return dict(job) if job["Status"] == "dead" else None

    return eventually(probe, 240, "the end of the restore")


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
    shown = stack.run(
        stack.python, "-m", "operate", "mysql", "--", "--batch", "--execute=SHOW STATUS LIKE 'Ssl_cipher'"
    )
    assert "TLS" in shown.stdout, shown.stderr


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


def test_a_dump_that_fails_gives_its_volume_to_a_restore_and_stays_to_be_seen(stack: Running) -> None:
    sql(stack, "REVOKE SELECT ON *.* FROM 'backup'@'%'")
    answer = stack.nomad.put("job/mysql-backup/periodic/force", {})
    child = stack.nomad.get(f"evaluation/{answer['EvalID']}")["JobID"]
    failed = {"ID": child}
    eventually(lambda: summary(stack, failed).get("Failed"), 240, "a failed dump", stack.diagnosis)
    operator = {"NOMAD_OPERATOR_TOKEN": stack.env.get("NOMAD_OPERATOR_TOKEN") or stack.env["NOMAD_TOKEN"]}
    restored = stack.run(stack.python, "-m", "operate", "restore", "--yes", "--timeout", "60", more_env=operator)
    assert restored.returncode == 0, restored.stderr
    status = stack.run(stack.python, "-m", "operate", "status", more_env=operator).stdout
    assert f"{child}: the dump has failed 1 times" in status
    assert "(Exit Code: 1); Nomad retries it" in status
    preview = stack.run("pulumi", "preview", "--non-interactive")
    assert f"mysql.backup: the dump {child} has failed" in preview.stdout + preview.stderr
    assert stack.nomad.get(f"job/{child.replace('/', '%2F')}")["Status"] != "dead"
    sql(stack, "GRANT SELECT ON *.* TO 'backup'@'%'")
    stack.nomad.delete(f"job/{child.replace('/', '%2F')}", purge=True)
    assert summary(stack, force_dump(stack)) == {"Complete": 1}


def test_a_given_certificate_takes_the_place_of_the_servers_own_and_dumps_verify_it(
    stack: Running, tmp_path: Path
) -> None:
    authority = Authority.made(tmp_path / "authority")
    certificate, key = (authority.read(name) for name in ("server-cert.pem", "server-key.pem"))
    path = stack.project / "Pulumi.dev.yaml"
    whole = yaml.safe_load(path.read_text())
    whole["config"]["nomad-stateful:mysql"]["tlsCertificate"] = {
        "certificate": certificate,
        "key": key,
        "ca": authority.read("ca.pem"),
    }
    path.write_text(yaml.safe_dump(whole))
    up = stack.run("pulumi", "up", "--yes", "--skip-preview", "--non-interactive")
    assert up.returncode == 0, up.stdout + up.stderr
    at = stack.mysql_endpoint()
    shown = ssl_certificate(stack, at.host, at.port)
    assert shown == ssl.PEM_cert_to_DER_cert(certificate)
    exported = stack.run("pulumi", "stack", "export").stdout
    assert key.splitlines()[1] not in exported
    assert summary(stack, force_dump(stack)) == {"Complete": 1}


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
