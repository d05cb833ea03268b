"""Restore drills of dumps in S3: into an empty server beside the running one, and red where a dump is no backup."""

import hashlib
import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.sandbox.consuming import force_dump, sql, summary
from tests.sandbox.test_drill import NUMBERS, drill, nothing_is_left
from tests.sandbox.test_dumps_in_s3 import PORT, PREFIX, bucket, keys, s3, set_s3
from tools.trial.running import Running

pytestmark = [pytest.mark.sandbox, pytest.mark.engine, pytest.mark.nomad, pytest.mark.nightly]

ROWS = 3000
NEWEST = "SELECT MAX(created) FROM shop.orders"


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    running = Running.prepare(tmp_path_factory.mktemp("project"))
    set_s3(running, {"endpoint": f"http://{running.ground.gateway}:{PORT}"})
    with running.up():
        yield running


@pytest.fixture(scope="module")
def dump(stack: Running) -> str:
    """Name of a dump of 3000 rows; the live server has had more since."""
    sql(
        stack,
        "CREATE DATABASE shop",
        "CREATE TABLE shop.orders (id INT PRIMARY KEY, what VARCHAR(200), created DATETIME)",
        "CREATE TABLE shop.notes (id INT PRIMARY KEY)",
        f"SET cte_max_recursion_depth = {ROWS}",
        f"INSERT INTO shop.orders {NUMBERS.format(ROWS)} SELECT n, REPEAT('x', 150), UTC_TIMESTAMP() FROM numbers",
        "CREATE TRIGGER shop.kept BEFORE DELETE ON shop.orders FOR EACH ROW SIGNAL SQLSTATE '45000'",
        "CREATE VIEW shop.latest AS SELECT MAX(id) AS id FROM shop.orders",
    )
    assert summary(stack, force_dump(stack)) == {"Complete": 1}
    sql(stack, "INSERT INTO shop.orders VALUES (0, 'later', UTC_TIMESTAMP())")
    [name] = keys(stack)
    return name


def put(stack: Running, name: str, content: bytes) -> None:
    """A dump as an upload leaves it."""
    metadata = {"sha256": hashlib.sha256(content).hexdigest()}
    s3(stack).put_object(Bucket=bucket(stack), Key=PREFIX + name, Body=content, Metadata=metadata)


def rows(report: dict[str, Any]) -> dict[str, int]:
    return {one["name"]: one["rows"] for one in report["tables"] if not one["name"].startswith("`mysql`.")}


def test_the_latest_dump_is_loaded_into_an_empty_server_with_every_row(
    stack: Running, dump: str, tmp_path: Path
) -> None:
    metrics = tmp_path / "drill.prom"
    words = ("--newest", NEWEST, "--max-lag", "10m", "--max-age", "1h", "--metrics", str(metrics))
    status, report, said = drill(stack, "--dump", "latest", *words)
    assert status == 0, said
    assert report["dump"]["name"] == dump
    assert report["snapshot"] is None
    # Not those that were written to the live server after the dump.
    assert rows(report) == {"`shop`.`notes`": 0, "`shop`.`orders`": ROWS}
    assert report["newest"] <= report["dump"]["begun"]
    assert list(report["phases"]) == ["volume", "register", "attach", "start", "load", "check", "remove"]
    begun = datetime.strptime(dump[:16], "%Y%m%dT%H%M%S%z")
    assert datetime.fromisoformat(report["dump"]["begun"]) == begun
    assert f'nomad_stateful_drill_rpo_seconds{{volume="mysql",backup="dump"}} {report["rpoSeconds"]:.0f}' in (
        metrics.read_text()
    )
    assert nothing_is_left(stack)
    assert sql(stack, "SELECT COUNT(*) FROM shop.orders") == ((ROWS + 1,),)


def test_a_dump_that_s3_changed_is_red_by_its_checksum(stack: Running, dump: str) -> None:
    stored = s3(stack).get_object(Bucket=bucket(stack), Key=PREFIX + dump)
    whole = stored["Body"].read()
    s3(stack).put_object(Bucket=bucket(stack), Key=PREFIX + dump, Body=b"x" * len(whole), Metadata=stored["Metadata"])
    try:
        status, report, said = drill(stack, "--dump", "latest")
    finally:
        put(stack, dump, whole)
    assert status == 1
    assert "the dump cannot be fetched: " in said
    assert f"and was uploaded with {hashlib.sha256(whole).hexdigest()}" in said
    assert report["rtoSeconds"] is None
    assert nothing_is_left(stack)


def test_the_dumps_volume_is_drilled_by_a_command_in_the_task_that_dumps(stack: Running, dump: str) -> None:
    taken = stack.run(stack.python, "-m", "nomad_stateful.operate", "snapshot", "dumps")
    assert taken.returncode == 0, taken.stderr
    command = (stack.python, "-m", "nomad_stateful.operate", "drill", "dumps", "--yes", "--json")
    read = stack.run(*command, "--check", f"gzip -t /dumps/*.sql.gz && ls /dumps/{dump}", timeout_s=600)
    assert read.returncode == 0, read.stderr
    assert json.loads(read.stdout)["output"] == [f"/dumps/{dump}"]
    assert nothing_is_left(stack)
