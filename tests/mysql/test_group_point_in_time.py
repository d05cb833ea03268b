"""A real group's binary logs, copied by whichever member is the primary, and moments around its loss restored."""

from __future__ import annotations

import contextlib
import itertools
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pymysql
import pytest

from nomad_stateful.agent.copies.copier import Copier
from nomad_stateful.agent.copies.model import HeldError
from nomad_stateful.agent.server import MySqlServer, ServerError
from nomad_stateful.databases.mysql.archive import FOLDER
from nomad_stateful.ebs.bucket import Bucket
from nomad_stateful.operate.point_in_time import logs
from nomad_stateful.operate.point_in_time.replay import Replay, replay
from tests.mysql.drilled import restored
from tests.mysql.group import Group, Member, fill
from tests.mysql.test_group import other_primary, start, template, three
from tests.providers.moto_account import moto
from tests.unit.agent.world import BUCKET, client_of, emptied

__all__ = ["template", "three"]
pytestmark = [pytest.mark.sandbox, pytest.mark.nomad, pytest.mark.nightly]

_EVERY_S = 2.0
PLUGIN = ("--plugin-load-add=group_replication.so", "--loose-group-replication-start-on-boot=OFF")
"""With which a drill of a member's volume runs."""


@dataclass
class Copying:
    """The copier of each member, and what it says."""

    group: Group
    s3: Any
    said: list[str] = field(default_factory=list)
    _ended: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Copying:
        self._threads = [threading.Thread(target=self._copy, args=(one,)) for one in self.group]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join(60)

    def _copy(self, member: Member) -> None:
        server = MySqlServer(member.folder / "client.cnf", in_group=True)
        bucket = Bucket(self.s3, BUCKET)
        copier = Copier(server, member.data, bucket, FOLDER, f"of-{member.name}", member=member.name)
        while not self._ended.wait(_EVERY_S):
            try:
                copier.round(datetime.now(UTC).replace(microsecond=0))
            except (HeldError, ServerError, OSError) as error:
                self.said.append(f"{member.name}: {error}")

    def until_after(self, moment: float) -> None:
        """Returns once everything up to a moment is in S3."""

        def reached() -> bool:
            until = logs.until(Bucket(self.s3, BUCKET), "")
            return until is not None and until.timestamp() > moment

        try:
            self.group.until(reached, 120)
        except AssertionError:
            raise AssertionError("\n".join(self.said[-20:])) from None

    def replay(self, base: float, to: float) -> Replay:
        known = logs.stored(Bucket(self.s3, BUCKET), "")
        return replay(known, *(datetime.fromtimestamp(moment, UTC) for moment in (base, to)))

    def bodies(self) -> dict[str, bytes]:
        keys = Bucket(self.s3, BUCKET).list("")
        return {key: self.s3.get_object(Bucket=BUCKET, Key=key)["Body"].read() for key in keys}


@dataclass
class Rows:
    """Rows that are committed one after the other: when each was asked for, and acknowledged."""

    group: Group
    asked: dict[int, float] = field(default_factory=dict)
    acknowledged: dict[int, float] = field(default_factory=dict)
    _ended: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Rows:
        [primary] = self.group.until(self.group.primaries)
        primary.query("CREATE DATABASE shop", "CREATE TABLE shop.orders (id BIGINT PRIMARY KEY)")
        self._thread = threading.Thread(target=self._write)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join(60)

    def _write(self) -> None:
        number = 0
        while not self._ended.wait(0.05):
            for primary in self.group.primaries():
                with contextlib.suppress(pymysql.err.MySQLError), primary.session(3) as cursor:
                    while not self._ended.wait(0.15):
                        number += 1
                        self.asked[number] = time.time()
                        cursor.execute(f"INSERT INTO shop.orders VALUES ({number})")
                        self.acknowledged[number] = time.time()

    def go_on(self, count: int) -> float:
        """Returns when so many more rows are acknowledged."""
        wanted = len(self.acknowledged) + count
        self.group.until(lambda: len(self.acknowledged) >= wanted)
        return time.time()

    def pause(self, since: float) -> tuple[float, float]:
        """The longest time without an acknowledgement."""
        times = [moment for moment in self.acknowledged.values() if moment >= since]
        return max(itertools.pairwise(times), key=lambda pair: pair[1] - pair[0])

    def assert_exactly_of(self, moment: float, found: list[int]) -> None:
        """What was acknowledged by then is there, and nothing that was asked for later."""
        there = set(found)
        assert {number for number, at in self.acknowledged.items() if at <= moment} <= there
        assert not {number for number, at in self.asked.items() if at > moment} & there


@contextlib.contextmanager
def stopped(member: Member) -> Iterator[Path]:
    """Its data directory, as a snapshot would have it."""
    assert member.stop_server() == 0
    try:
        yield member.data
    finally:
        member.start_server()


def pids(member: Member) -> list[str]:
    command = ["pgrep", "--ns", str(member.first_process), "--nslist", "pid", "mysqld"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()


@pytest.mark.parametrize("fault", ["killed", "paused"])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_moments_around_the_loss_of_the_primary_have_exactly_their_rows(
    three: Group, image: Path, nomad: Path, tmp_path: Path, fault: str
) -> None:
    start(three)
    three.until_whole()
    with moto() as url, Copying(three, emptied(client_of(url))) as copying, Rows(three) as rows:
        copying.until_after(rows.go_on(10))
        [first] = three.until(three.primaries)
        with stopped(next(one for one in three if one is not first)) as data:
            subprocess.run(["cp", "-a", "--sparse=always", str(data), str(tmp_path / "snapshot")], check=True)
            base = time.time()
        three.until_whole()
        before = rows.go_on(20)
        rows.go_on(10)
        struck = time.time()
        paused = pids(first) if fault == "paused" else []
        if paused:
            subprocess.run(["kill", "-STOP", *paused], check=True)
        else:
            first.stop_server(kill=True)
        other_primary(three, first)
        after = rows.go_on(5)
        if paused:
            subprocess.run(["kill", "-CONT", *paused], check=True)
            three.until_whole()
        later = rows.go_on(40)
        rows.go_on(5)
        copying.until_after(later + 1)
        began, ended = rows.pause(struck - 1)
        moments = [before, began + (ended - began) / 3, ended - 0.1, after, later]
        found = [copying.replay(base, moment) for moment in moments]
        # Also from a snapshot that was taken meanwhile.
        found_late = copying.replay(began, later)
        bodies = copying.bodies()
    assert len({log.member for log in found[-1].logs}) == 2
    assert len(found_late.logs) <= len(found[-1].logs)
    for at, (moment, one) in enumerate(zip(moments, found, strict=True)):
        folder = tmp_path / str(at)
        folder.mkdir()
        with restored(image, nomad, folder, one, tmp_path / "snapshot", bodies, *PLUGIN) as drill:
            assert drill.is_done, drill.lines
            rows.assert_exactly_of(moment, drill.rows())
    print([len(one.logs) for one in found], f"pause {timedelta(seconds=ended - began)}", set(copying.said))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_member_that_has_copied_anothers_data_goes_on_as_the_primary(
    three: Group, template: Path, image: Path, nomad: Path, tmp_path: Path
) -> None:
    """What it copied is in none of its logs, and MySQL does not say that it came before them."""
    start(three)
    three.until_whole()
    with moto() as url, Copying(three, emptied(client_of(url))) as copying, Rows(three) as rows:
        [first] = three.until(three.primaries)
        other, copied = (one for one in three if one is not first)
        first.query("CREATE TABLE shop.more (id INT AUTO_INCREMENT PRIMARY KEY)")
        first.query(*["INSERT INTO shop.more VALUES ()"] * 200)
        copied.stop_server(kill=True)
        fill(copied, template)
        # By its usual one it would take so few transactions from the others' logs.
        copied.task = replace(copied.task, words=[*copied.task.words, "--loose-group-replication-clone-threshold=100"])
        copied.start_server()
        three.until_whole(240)
        assert "member: starts the server again" in copied.place.log.read_text()
        with stopped(other) as data:
            subprocess.run(["cp", "-a", "--sparse=always", str(data), str(tmp_path / "snapshot")], check=True)
            base = time.time()
        three.until_whole(240)
        copying.until_after(rows.go_on(10))
        first.query(f"SELECT group_replication_set_as_primary('{copied.query('SELECT @@server_uuid')[0][0]}')")
        moment = rows.go_on(20)
        copying.until_after(rows.go_on(5))
        found, bodies = copying.replay(base, moment), copying.bodies()
    assert {log.member for log in found.logs} == {first.name, copied.name}
    with restored(image, nomad, tmp_path / "drill", found, tmp_path / "snapshot", bodies, *PLUGIN) as drill:
        assert drill.is_done, drill.lines
        rows.assert_exactly_of(moment, drill.rows())
