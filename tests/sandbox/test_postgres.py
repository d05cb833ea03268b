"""A stack with PostgreSQL, whole: its rows, dumps, restores, drills, metrics, and the refusal of other files."""

import io
import json
import subprocess
import tarfile
from collections.abc import Iterator
from typing import Any

import httpx2
import pg8000.exceptions
import pytest
import yaml

from nomad_stateful.databases.postgres.operations import connect
from nomad_stateful.nomad.running_job import endpoint
from sandbox.docker import agent
from tests.certificates import Authority
from tests.sandbox.consuming import force_dump, summary
from tools.trial.running import Running, eventually

pytestmark = [pytest.mark.sandbox, pytest.mark.engine, pytest.mark.nomad, pytest.mark.nightly]

PORT = 5000
ROWS = "SELECT id, what FROM orders ORDER BY id"


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    running = Running.prepare(tmp_path_factory.mktemp("project"))
    configure(running, Authority.made(tmp_path_factory.mktemp("tls") / "own"))
    with running.up("--all-images"):
        sql(running, "CREATE TABLE orders (id int PRIMARY KEY, what text)")
        sql(running, "INSERT INTO orders VALUES (1, 'one'), (2, 'two')")
        yield running


def configure(running: Running, own: Authority) -> None:
    """The sandbox's stack with PostgreSQL in the place of MySQL, and all that it may have."""
    path = running.project / "Pulumi.dev.yaml"
    whole = yaml.safe_load(path.read_text())
    config = whole["config"]
    mysql = config.pop("nomad-stateful:mysql")
    copies = {"endpoint": f"http://{running.ground.gateway}:{PORT}"}
    names = {"certificate": "server-cert.pem", "key": "server-key.pem", "ca": "ca.pem"}
    config["nomad-stateful:postgres"] = {
        "stopAfterDisconnect": mysql["stopAfterDisconnect"],
        "volume": "postgres",
        "image": "postgres:18",
        "tls": "required",
        "tlsCertificate": {key: own.read(name) for key, name in names.items()},
        "databases": ["shop"],
        "users": [{"name": "shop", "database": "shop"}],
        "config": {"max_connections": 50, "log_statement": "ddl"},
        "backup": {"volume": "dumps", "schedule": "@yearly", "keep": 2, "s3": copies},
    }
    volumes = config["nomad-stateful:volumes"]
    volumes[0]["name"] = "postgres"
    volumes.append({**volumes[0], "name": "dumps"})
    config["nomad-stateful:agentImage"] = f"{agent.REPOSITORY}:{agent.tag()}"
    # Debian's, whatever their versions are.
    exporter = {"image": "quay.io/prometheuscommunity/postgres-exporter:v0"}
    config["nomad-stateful:metrics"] = {"postgres": exporter, "volumes": False}
    path.write_text(yaml.safe_dump(whole))


def operate(stack: Running, *words: str) -> subprocess.CompletedProcess[str]:
    operator = {"NOMAD_OPERATOR_TOKEN": stack.env.get("NOMAD_OPERATOR_TOKEN") or stack.env["NOMAD_TOKEN"]}
    return stack.run(stack.python, "-m", "nomad_stateful.operate", *words, more_env=operator, timeout_s=600)


def well(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def sql(stack: Running, statement: str) -> list[str]:
    """Lines of what the client says in the server's task."""
    words = ("--dbname=shop", "--no-align", "--tuples-only", f"--command={statement}")
    return well(operate(stack, "postgres", "--", *words)).split()


def dumped(stack: Running) -> None:
    assert summary(stack, force_dump(stack, "postgres-backup")) == {"Complete": 1}


def report(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    return dict(json.loads(done.stdout or "{}"))


def test_a_second_preview_is_empty_and_rows_outlive_a_purge_and_a_drain(stack: Running) -> None:
    well(stack.run("pulumi", "preview", "--non-interactive", "--refresh", "--expect-no-changes"))
    assert "All 10 rows were read back after each step" in well(operate(stack, "verify"))
    assert sql(stack, ROWS) == ["1|one", "2|two"]


def test_a_dump_goes_to_s3_and_is_restored_from_the_volume_and_from_there(stack: Running) -> None:
    dumped(stack)
    place = str(stack.outputs()["postgresBackup"]["s3"]).removeprefix("s3://")
    bucket, _, prefix = place.partition("/")
    [stored] = stack.aws("s3").list_objects_v2(Bucket=bucket, Prefix=prefix)["Contents"]
    content = stack.aws("s3").get_object(Bucket=bucket, Key=stored["Key"])["Body"].read()
    with tarfile.open(fileobj=io.BytesIO(content)) as dump:
        version, databases = (dump.extractfile(name).read() for name in ("version", "databases"))  # type: ignore[union-attr]
    assert version.startswith(b"18")
    # What verify wrote is in no database of its own.
    assert databases == b"shop\n"
    for where in ((), ("--from", "s3")):
        sql(stack, "DELETE FROM orders")
        well(operate(stack, "restore", "--yes", *where))
        assert sql(stack, ROWS) == ["1|one", "2|two"]


def test_drills_of_a_snapshot_and_of_a_dump_count_each_row(stack: Running) -> None:
    well(operate(stack, "snapshot", "postgres"))
    dumped(stack)
    for more in ((), ("--dump", "latest")):
        done = operate(
            stack, "drill", "postgres", "--yes", "--json", "--newest", "SELECT max(id) FROM public.orders", *more
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert {one["name"]: one["rows"] for one in report(done)["tables"]}["shop.public.orders"] == 2


def test_a_login_in_clear_text_is_refused(stack: Running) -> None:
    at = eventually(lambda: endpoint(stack.nomad, "postgres-server", "default", "postgres", "db"), 60, "a server")
    with pytest.raises(pg8000.exceptions.DatabaseError, match=r"no pg_hba.conf entry .* no encryption"):
        connect(at.host, at.port, "postgres", stack.outputs()["postgresPassword"], None)


def test_the_exporter_says_that_the_server_is_up_and_sees_no_row(stack: Running) -> None:
    outputs = stack.outputs()
    password = outputs["postgresMetricsPassword"]
    at = eventually(
        lambda: endpoint(stack.nomad, "postgres-metrics", "default", "exporter", "metrics"), 60, "an exporter"
    )

    def up() -> bool | None:
        answer = httpx2.get(f"http://{at.host}:{at.port}/metrics", auth=("prometheus", password), timeout=10)
        return True if "\npg_up 1\n" in answer.text else None

    eventually(up, 60, "pg_up", stack.diagnosis)


def test_another_major_version_is_refused_at_preview(stack: Running) -> None:
    path = stack.project / "Pulumi.dev.yaml"
    text = path.read_text()
    path.write_text(text.replace("image: postgres:18", "image: postgres:17"))
    try:
        done = stack.run("pulumi", "preview", "--non-interactive")
    finally:
        path.write_text(text)
    assert done.returncode != 0
    assert "another major version does not read what that wrote" in done.stdout + done.stderr


def test_an_upgrade_to_another_major_version_is_refused_with_the_way_on(stack: Running) -> None:
    done = operate(stack, "upgrade-postgres", "19.1", "--image", "postgres:19.1", "--yes")
    assert done.returncode == 4, done.stdout + done.stderr
    assert "dump, and restore into a server of 19.1 on a new volume" in done.stderr
