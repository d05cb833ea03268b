"""Restore drills on a running stack: snapshots under writes, a damaged table, and a drill that is killed."""

import contextlib
import json
import mmap
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from nomad_stateful.ebs.tags import DRILL_TAG
from tools.faults.writer import Served, Writer
from tools.trial.running import Running, eventually

pytestmark = [pytest.mark.sandbox, pytest.mark.engine, pytest.mark.nomad, pytest.mark.nightly]

SNAPSHOTS = 20
ROWS_BETWEEN = 40
_PAGE, _BLOCK = 16384, 4096
_INDEX_PAGE = b"\x45\xbf"
_TEXT = "x" * 150
NUMBERS = "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {})"


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    running = Running.prepare(tmp_path_factory.mktemp("project"))
    with running.up():
        yield running


def drill(stack: Running, *words: str) -> tuple[int, dict[str, Any], str]:
    """Exit status, report, and what was said beside it."""
    command = (stack.python, "-m", "nomad_stateful.operate", "drill", "mysql", "--yes", "--json", *words)
    done = stack.run(*command, timeout_s=600)
    return done.returncode, json.loads(done.stdout or "{}"), done.stderr


def take(stack: Running) -> str:
    done = stack.run(stack.python, "-m", "nomad_stateful.operate", "snapshot", "mysql")
    assert done.returncode == 0, done.stderr
    return done.stdout.split()[0]


def snapshot_now(stack: Running) -> str:
    """Asks EC2 at once: what was acknowledged before the call is what a snapshot must have."""
    volume_id = stack.nomad.get("volume/csi/mysql", namespace="default")["ExternalID"]
    return str(stack.ec2.create_snapshot(VolumeId=volume_id)["SnapshotId"])


def scratch_volumes(stack: Running) -> list[str]:
    found = stack.ec2.describe_volumes(Filters=[{"Name": "tag-key", "Values": [DRILL_TAG]}])["Volumes"]
    return [one["VolumeId"] for one in found]


def nothing_is_left(stack: Running) -> bool:
    registered = stack.nomad.get("volumes", type="csi", namespace="drill") or []
    jobs = stack.nomad.get("jobs", namespace="drill") or []
    return not scratch_volumes(stack) and not registered and not jobs


def test_mysql_recovers_from_each_snapshot_under_writes_and_no_acknowledged_row_is_missing(
    stack: Running, tmp_path: Path
) -> None:
    writer = Writer(Served(stack.nomad), tmp_path)
    taken: list[tuple[str, int]] = []
    writer.begin()
    try:
        for _ in range(SNAPSHOTS):
            writer.await_new(ROWS_BETWEEN, 120)
            acknowledged = max(writer.acknowledged)
            taken.append((snapshot_now(stack), acknowledged))
        # A number whose commit failed would be a gap.
        assert not writer.error
    finally:
        writer.end()
    print(f"\n{'snapshot':<24}{'acknowledged':>14}{'rows':>8}{'highest':>9}{'recovered in s':>16}{'tables':>8}")
    for snapshot_id, acknowledged in taken:
        newest = "SELECT MAX(number) FROM faults.acknowledged"
        status, report, said = drill(stack, "--snapshot", snapshot_id, "--newest", newest)
        assert status == 0, said
        [rows] = [one["rows"] for one in report["tables"] if one["name"] == "`faults`.`acknowledged`"]
        # Whole seconds since 1970 are what --newest takes besides a date.
        highest = int(datetime.fromisoformat(report["newest"]).timestamp())
        recovered, tables = report["phases"]["recover"], len(report["tables"])
        print(f"{snapshot_id:<24}{acknowledged:>14}{rows:>8}{highest:>9}{recovered:>16.1f}{tables:>8}")
        assert highest >= acknowledged, f"acknowledged rows are missing from {snapshot_id}"
        # Rows are committed one by one, in order: without a gap the highest number is their number.
        assert rows == highest
    assert nothing_is_left(stack)


def damage(image: Path) -> int:
    """Overwrites rows in index pages of the image, and returns in how many pages."""
    damaged, position = 0, 0
    with image.open("r+b") as file, contextlib.closing(mmap.mmap(file.fileno(), 0)) as memory:
        while (found := memory.find(_TEXT.encode(), position)) >= 0:
            block = found // _BLOCK * _BLOCK
            starts = range(block, max(-1, block - _PAGE), -_BLOCK)
            page = next((at for at in starts if memory[at + 24 : at + 26] == _INDEX_PAGE), None)
            position = found + len(_TEXT) if page is None else page + _PAGE
            if page is not None:
                memory[found : found + 10] = b"?" * 10
                damaged += 1
        memory.flush()
    return damaged


def test_a_snapshot_with_a_damaged_table_is_red(stack: Running) -> None:
    statements = ["CREATE DATABASE shop", "CREATE TABLE shop.orders (id INT PRIMARY KEY, what VARCHAR(200))"]
    statements += ["SET cte_max_recursion_depth = 3000"]
    statements += [f"INSERT INTO shop.orders {NUMBERS.format(3000)} SELECT n, '{_TEXT}' FROM numbers"]
    statements += [f"SET GLOBAL innodb_max_dirty_pages_pct{name} = 0" for name in ("_lwm", "")]
    at = stack.server_endpoint()
    stack.sql(at, *statements)

    def written() -> bool | None:
        # What the redo log would make whole again has to be in the pages alone.
        found = dict(stack.sql(at, "SHOW GLOBAL STATUS LIKE 'Innodb%'"))
        age = int(found["Innodb_redo_log_current_lsn"]) - int(found["Innodb_redo_log_checkpoint_lsn"])
        return (found["Innodb_buffer_pool_pages_dirty"] == "0" and age < 300) or None

    eventually(written, 60, "every page is written")
    snapshot_id = take(stack)
    assert damage(next((stack.project / ".sandbox").rglob(f"{snapshot_id}.img"))) > 3
    status, report, said = drill(stack)
    assert status == 1
    # InnoDB ends the server at a page that it cannot read.
    assert re.search(r"table `shop`\.`orders` (is damaged in the snapshot|was checked)", said), said
    assert {one["name"] for one in report["tables"] if one["status"] != "OK"} <= {"`shop`.`orders`"}
    assert ("`shop`.`orders`", "OK") not in {(one["name"], one["status"]) for one in report["tables"]}
    assert nothing_is_left(stack)


@pytest.mark.parametrize("ended_by", [signal.SIGKILL, signal.SIGTERM])
def test_a_drill_that_is_ended_leaves_nothing_or_the_next_one_removes_it(
    stack: Running, tmp_path: Path, ended_by: signal.Signals
) -> None:
    # A drill without a table is red.
    at = stack.server_endpoint()
    stack.sql(at, "CREATE DATABASE IF NOT EXISTS kept", "CREATE TABLE IF NOT EXISTS kept.one (id INT PRIMARY KEY)")
    snapshot_id = take(stack)
    command = [stack.python, "-m", "nomad_stateful.operate", "drill", "mysql", "--yes", "--snapshot", snapshot_id]
    with (tmp_path / "said").open("w+") as said:
        running = subprocess.Popen(command, cwd=stack.project, env=stack.env, stdout=said, stderr=said)
        eventually(lambda: stack.nomad.get("jobs", namespace="drill") or None, 60, "the drill's job")
        os.kill(running.pid, ended_by)
        running.wait(timeout=300)
    if ended_by == signal.SIGTERM:
        assert nothing_is_left(stack)
        return
    assert scratch_volumes(stack)
    status, report, text = drill(stack, "--snapshot", snapshot_id)
    assert status == 0, text
    assert "removed what an earlier drill left" in text
    assert report["ok"]
    assert nothing_is_left(stack)
