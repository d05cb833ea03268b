"""Restores to a point in time under writes, with MySQL itself and the agent in their images."""

from __future__ import annotations

import contextlib
import itertools
import json
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests import official_parts
from tests.sandbox.alerts import rules
from tests.sandbox.alerts.prometheus import missing, watched
from tests.sandbox.test_dumps_in_s3 import AGENT_IMAGE, PORT, operate
from tools.faults.background import Background
from tools.faults.writer import Served
from tools.trial.running import Running, eventually

pytestmark = [pytest.mark.sandbox, pytest.mark.engine, pytest.mark.nomad, pytest.mark.nightly]

INSTANTS = 5
_PAUSE_S = 0.05
_NEWEST = "SELECT MAX(number) FROM faults.acknowledged"


@dataclass(frozen=True)
class Commit:
    """A row: asked for, and acknowledged, in seconds since 1970."""

    number: int
    asked: float
    acknowledged: float


class Rows:
    """Commits one row after the other, and remembers when."""

    def __init__(self, mysql: Served) -> None:
        self._mysql = mysql
        self.commits: list[Commit] = []
        self._ends = False
        self._background = Background("rows", self._work)

    @contextlib.contextmanager
    def written(self) -> Iterator[None]:
        self._background.begin()
        try:
            yield
        finally:
            self._ends = True
            self._background.end()

    def _work(self) -> None:
        number = 0
        while not self._ends:
            with contextlib.suppress(Exception), self._mysql.session() as (_, commit):
                while not self._ends:
                    # One that failed may be there or not: its number is not taken again.
                    number += 1
                    asked = time.time()
                    commit(number)
                    self.commits.append(Commit(number, asked, time.time()))
                    time.sleep(_PAUSE_S)

    def await_more(self, count: int) -> None:
        wanted = len(self.commits) + count
        eventually(lambda: len(self.commits) >= wanted or None, 120, f"{count} more rows")


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    running = Running.prepare(tmp_path_factory.mktemp("project"))
    path = running.project / "Pulumi.dev.yaml"
    whole = yaml.safe_load(path.read_text())
    s3 = {"endpoint": f"http://{running.ground.gateway}:{PORT}"}
    whole["config"]["nomad-stateful:mysql"]["pointInTime"] = {"s3": s3}
    whole["config"]["nomad-stateful:agentImage"] = AGENT_IMAGE
    path.write_text(yaml.safe_dump(whole))
    with running.up(*official_parts.words()):
        yield running


def until(stack: Running) -> float:
    """Until when every transaction is in S3, in seconds since 1970; 0 before the first copy."""
    place = stack.outputs()["mysqlPointInTime"]
    client = stack.aws("s3")
    key = f"{place['prefix']}binlogs/until"
    if not client.list_objects_v2(Bucket=place["bucket"], Prefix=key).get("Contents"):
        return 0.0
    text = client.get_object(Bucket=place["bucket"], Key=key)["Body"].read().decode()
    return datetime.strptime(text.splitlines()[0], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC).timestamp()


@pytest.fixture
def rows(stack: Running) -> Iterator[Rows]:
    """Rows that are written meanwhile, to an empty table."""
    stack.sql(stack.server_endpoint(), "DROP DATABASE IF EXISTS faults")
    rows = Rows(Served(stack.nomad))
    with rows.written():
        rows.await_more(40)
        yield rows


def between(commits: list[Commit], since: float, before: float, chance: random.Random) -> tuple[float, int]:
    """A moment at which no commit runs, and how many rows there were."""
    pairs = [
        (one, after) for one, after in itertools.pairwise(commits) if since < one.acknowledged and after.asked < before
    ]
    one, after = chance.choice(pairs)
    return (one.acknowledged + after.asked) / 2, one.number


def iso(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).isoformat()


def newest_snapshot_before(stack: Running, moment: float) -> str:
    """Of the first server's volume."""
    found = stack.ec2.describe_snapshots(OwnerIds=["self"])["Snapshots"]
    old = [one for one in found if not one.get("Tags") and one["StartTime"].timestamp() < moment]
    return str(max(old, key=lambda one: one["StartTime"])["SnapshotId"])


def switch(stack: Running, snapshot_id: str) -> None:
    """Gives MySQL a volume from a snapshot, as the command says."""
    path = stack.project / "Pulumi.dev.yaml"
    whole = yaml.safe_load(path.read_text())
    config = whole["config"]
    [old] = [one for one in config["nomad-stateful:volumes"] if one["name"] == "mysql"]
    config["nomad-stateful:volumes"].append({**old, "name": "mysql-restored", "snapshotId": snapshot_id})
    config["nomad-stateful:mysql"]["volume"] = "mysql-restored"
    path.write_text(yaml.safe_dump(whole))
    done = stack.run("pulumi", "up", "--yes", "--skip-preview", "--non-interactive")
    assert done.returncode == 0, done.stdout + done.stderr


def restore(stack: Running, command: str, *words: str) -> dict[str, Any]:
    done = operate(stack, command, "--yes", "--json", "--newest", _NEWEST, *words)
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def take_snapshot(stack: Running) -> float:
    """Takes a snapshot of MySQL's volume, and returns when."""
    name = stack.outputs()["mysql"]["volume"]
    volume_id = stack.nomad.get(f"volume/csi/{name}", namespace="default")["ExternalID"]
    stack.ec2.create_snapshot(VolumeId=volume_id)
    return time.time()


def rows_in(report: dict[str, Any]) -> int:
    [table] = [one for one in report["tables"] if one["name"] == "`faults`.`acknowledged`"]
    return int(table["rows"])


def test_five_random_instants_are_restored_with_exactly_their_rows(stack: Running, rows: Rows) -> None:
    eventually(lambda: until(stack) or None, 120, "the first copy")
    taken = take_snapshot(stack)
    lags: list[float] = []

    def passed() -> bool | None:
        reached = until(stack)
        lags.append(time.time() - reached)
        return True if reached > taken + 60 else None

    eventually(passed, 300, "the logs of a minute after the snapshot")
    reached, seed = until(stack), random.randrange(1 << 32)
    chance = random.Random(seed)
    print(f"\nseed {seed}; {len(rows.commits)} rows; the logs in S3 were at most {max(lags):.0f} s behind")
    print(f"{'instant, s after the snapshot':>30}{'rows':>8}{'restored':>10}{'logs':>6}{'RTO, s':>8}")
    for _ in range(INSTANTS):
        moment, expected = between(rows.commits, taken + 16, reached, chance)
        report = restore(stack, "drill", "mysql", "--to", iso(moment))
        found = rows_in(report)
        print(f"{moment - taken:>30.3f}{expected:>8}{found:>10}{report['logs']:>6}{report['rtoSeconds']:>8.1f}")
        assert found == expected


def allocation(stack: Running) -> dict[str, Any]:
    found = stack.nomad.get("job/mysql-server/allocations", namespace="default")
    return dict(next(one for one in found if one["ClientStatus"] == "running"))


def test_a_copier_that_is_killed_goes_on(stack: Running, rows: Rows) -> None:
    killed = allocation(stack)
    path = f"client/allocation/{killed['ID']}/signal"
    stack.nomad.put(path, {"Task": "binlogs", "Signal": "SIGKILL"}, namespace="default")
    at = time.time()
    eventually(lambda: until(stack) > at or None, 120, "logs of after the kill are in S3")
    print(f"\nafter a kill of the copier the logs in S3 had caught up {time.time() - at:.0f} s later")
    assert allocation(stack)["ID"] == killed["ID"], "MySQL was restarted along"
    rows.await_more(1)


@contextlib.contextmanager
def without_s3(stack: Running, *fault: str) -> Iterator[None]:
    """The bucket of the logs refuses every call, or does not answer."""
    place = stack.outputs()["mysqlPointInTime"]
    stack.ctl("fault", "on", *fault, "--name", "s3", "--action", f"* /{place['bucket']}*")
    try:
        yield
    finally:
        stack.ctl("fault", "off", "s3")
    log = (stack.project / ".sandbox/log/ec2-calls.jsonl").read_text().splitlines()
    assert any(json.loads(line).get("fault") == "s3" for line in log), "no call was struck"


def longest_pause(commits: list[Commit], since: float, before: float) -> float:
    within = [one.acknowledged for one in commits if since < one.acknowledged < before]
    return max(after - one for one, after in itertools.pairwise(within))


@pytest.mark.parametrize(
    "fault", [("error",), ("drop", "--seconds", "20")], ids=["S3 refuses", "S3 accepts and does not answer"]
)
def test_while_s3_is_away_mysql_goes_on_and_no_log_is_missing_afterwards(
    stack: Running, rows: Rows, fault: tuple[str, ...]
) -> None:
    taken = take_snapshot(stack)
    eventually(lambda: until(stack) > taken or None, 120, "the logs since the snapshot")
    server = allocation(stack)["ID"]
    with without_s3(stack, *fault):
        away = time.time()
        eventually(lambda: time.time() > away + 60 or None, 120, "a minute without S3")
        # What it would know of S3, a new copier has to ask.
        path = f"client/allocation/{server}/signal"
        stack.nomad.put(path, {"Task": "binlogs", "Signal": "SIGKILL"}, namespace="default")
        eventually(lambda: time.time() > away + 120 or None, 120, "two minutes without S3")
        rows.await_more(1)
    back = time.time()
    eventually(lambda: until(stack) > back or None, 180, "logs of after S3 was away")
    late = time.time() - back
    moment, expected = between(rows.commits, away + 5, back, random.Random())
    report = restore(stack, "drill", "mysql", "--to", iso(moment))
    print(
        f"\n{fault[0]}: S3 was away for {back - away:.0f} s; the longest pause of a client was "
        f"{longest_pause(rows.commits, away, back):.2f} s; {late:.0f} s later the logs had caught up; "
        f"{moment - away:.1f} s into it there were {expected} rows, restored {rows_in(report)}"
    )
    assert rows_in(report) == expected
    assert allocation(stack)["ID"] == server, "MySQL was restarted along"


@pytest.mark.skipif(bool(missing()), reason=missing())
def test_its_alert_fires_and_clears(stack: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Logs that are well are half a minute behind.
    monkeypatch.setitem(rules.SCALE, "5m", "60s")
    path = f"client/allocation/{allocation(stack)['ID']}/signal"
    with watched(stack, tmp_path) as watch:
        eventually(lambda: watch.prometheus.query("nomad_stateful_binlogs_expected") or None, 60, "its metrics")
        stack.nomad.put(path, {"Task": "binlogs", "Signal": "SIGSTOP"}, namespace="default")
        began = time.time()
        fires = {"nomad_job": "mysql-server", "severity": "critical"}
        eventually(lambda: watch.prometheus.fires("BinlogsLate", fires) or None, 300, "BinlogsLate fires")
        fired = time.time()
        stack.nomad.put(path, {"Task": "binlogs", "Signal": "SIGCONT"}, namespace="default")
        eventually(lambda: not watch.prometheus.fires("BinlogsLate", fires) or None, 120, "BinlogsLate clears")
        print(f"\nBinlogsLate fired after {fired - began:.0f} s, and cleared after {time.time() - fired:.0f} s")


def test_a_client_that_dies_costs_what_the_report_says(stack: Running, rows: Rows) -> None:
    client = allocation(stack)["NodeName"]
    take_snapshot(stack)
    at = time.time()
    eventually(lambda: until(stack) > at + 20 or None, 180, "the logs since the snapshot")
    stack.ctl("kill", client)
    lost_at = time.time()
    acknowledged = [one for one in rows.commits if one.acknowledged < lost_at]
    reached = until(stack)
    report = restore(stack, "drill", "mysql", "--to", "latest")
    there = [one for one in acknowledged if one.acknowledged <= reached]
    print(
        f"\nthe client died {lost_at - reached:.0f} s after what is in S3: {len(acknowledged)} rows acknowledged, "
        f"{len(acknowledged) - rows_in(report)} not restored; RTO {report['rtoSeconds']:.1f} s"
    )
    assert rows_in(report) >= len(there)
    assert lost_at - reached < 60
    # On its volume, which did not die, are all of them; and the logs go on from another client.
    count = len(rows.commits)
    eventually(lambda: len(rows.commits) > count or None, 300, "MySQL on the other client", stack.diagnosis)
    again = time.time()
    eventually(lambda: until(stack) > again or None, 120, "its logs")


def test_a_lost_zone_costs_the_last_seconds(stack: Running, rows: Rows) -> None:
    zone = {"client-1", "client-2"}
    taken = take_snapshot(stack)
    eventually(lambda: until(stack) > taken + 20 or None, 180, "the logs since the snapshot")
    for client in sorted(zone):
        stack.ctl("kill", client)
    lost_at, reached = time.time(), until(stack)
    there = [one for one in rows.commits if one.acknowledged <= reached]

    def down() -> bool | None:
        states = {one["Name"]: one["Status"] for one in stack.nomad.get("nodes") or []}
        return all(states[client] == "down" for client in zone) or None

    eventually(down, 180, "Nomad has lost the zone")
    # What docs/disaster-recovery.md says of a zone with fewer clients than controllers.
    path = stack.project / "Pulumi.dev.yaml"
    whole = yaml.safe_load(path.read_text())
    whole["config"]["nomad-stateful:plugins"][0]["controllers"] = 1
    path.write_text(yaml.safe_dump(whole))
    report = restore(stack, "restore", "--to", "latest", "--zone", "us-west-2b")
    done = operate(
        stack, "failover", "mysql", "--zone", "us-west-2b", "--snapshot", report["kept"], "--yes", timeout_s=1200
    )
    assert done.returncode == 0, done.stdout + done.stderr
    # Of this zone's writer: the one of the test went on as soon as MySQL answered.
    _, numbers = Served(stack.nomad).rows()
    acknowledged = [one for one in rows.commits if one.acknowledged < lost_at]
    missing = {one.number for one in acknowledged} - set(numbers)
    print(
        f"\nthe zone was lost {lost_at - reached:.0f} s after what is in S3: of {len(acknowledged)} rows acknowledged,"
    )
    print(f"{len(missing)} are missing; RTO of the restore {report['rtoSeconds']:.1f} s; {done.stdout}")
    assert not missing & {one.number for one in there}


def test_the_stack_goes_on_from_a_restored_moment_on_a_new_volume(stack: Running, rows: Rows) -> None:
    taken = take_snapshot(stack)
    # Each start of the server gives root a password, which is in the logs then.
    count, path = len(rows.commits), f"client/allocation/{allocation(stack)['ID']}/restart"
    stack.nomad.put(path, {"TaskName": "mysql"}, namespace="default")
    eventually(lambda: len(rows.commits) > count or None, 120, "MySQL after a restart", stack.diagnosis)
    again = time.time()
    eventually(lambda: until(stack) > again + 30 or None, 180, "the logs of half a minute after the restart")
    moment, expected = between(rows.commits, max(again, taken + 16), until(stack), random.Random())
    before = {one.number for one in rows.commits if one.number <= expected}
    report = restore(stack, "restore", "--to", iso(moment))
    assert rows_in(report) == len(before)
    since = {one.number for one in rows.commits if one.number > expected}
    switch(stack, report["kept"])
    _, numbers = Served(stack.nomad).rows()
    assert before <= set(numbers)
    assert not since & set(numbers)
    # Another server goes on. Its logs are copied too: they lead from a snapshot of its own, from none of the old one's.
    began = time.time()
    eventually(lambda: until(stack) > began or None, 180, "the new server's logs")
    refused = operate(stack, "drill", "--yes", "--to", "latest", "--snapshot", newest_snapshot_before(stack, began))
    assert refused.returncode == 1
    later = take_snapshot(stack)
    eventually(lambda: until(stack) > later + 20 or None, 180, "the new server's logs after its snapshot")
    assert rows_in(restore(stack, "drill", "mysql-restored", "--to", "latest")) >= len(numbers)


def test_what_the_server_writes_without_gtids_is_not_vouched_for(stack: Running, rows: Rows) -> None:
    eventually(lambda: until(stack) > time.time() - 60 or None, 300, "the logs are copied")
    found, endpoint = allocation(stack), stack.server_endpoint()
    stack.sql(endpoint, *(f"SET GLOBAL gtid_mode = {mode}" for mode in ("ON_PERMISSIVE", "OFF_PERMISSIVE")))
    began = time.time()

    def said() -> str:
        words = ("nomad", "alloc", "logs", "-stderr", "-task", "binlogs", found["ID"])
        token = stack.env.get("NOMAD_OPERATOR_TOKEN") or stack.env["NOMAD_TOKEN"]
        done = stack.run(*words, more_env={"NOMAD_TOKEN": token})
        return done.stdout + done.stderr

    eventually(lambda: "gtid_mode=OFF_PERMISSIVE" in said() or None, 90, "the task says so", said)
    rows.await_more(40)
    eventually(lambda: "min behind" in operate(stack, "status").stdout or None, 360, "status says so")
    held = until(stack)
    assert held < began + 1
    stack.sql(endpoint, *(f"SET GLOBAL gtid_mode = {mode}" for mode in ("ON_PERMISSIVE", "ON")))
    again = time.time()
    eventually(lambda: until(stack) > again or None, 120, "the logs go on", said)
    print(f"\nwithout GTIDs the logs stood for {again - held:.0f} s, and went on {time.time() - again:.0f} s after")
    # Over the transactions without GTIDs nothing leads; a snapshot of after them goes on.
    taken = take_snapshot(stack)
    eventually(lambda: until(stack) > taken + 20 or None, 180, "the logs since the snapshot")
    count = sum(one.acknowledged < taken for one in rows.commits)
    assert rows_in(restore(stack, "drill", "--to", "latest")) >= count
