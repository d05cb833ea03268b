"""Copies of binary logs: what `until` says is in S3, whatever the server, S3 or another server does."""

from __future__ import annotations

import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from nomad_stateful.agent.binlogs.copier import HeldError
from nomad_stateful.agent.server import ServerError
from nomad_stateful.databases.mysql.archive import UNTIL, Facts, Until
from nomad_stateful.databases.mysql.gtids import GtidSet
from operate.point_in_time.logs import PointInTimeError
from tests.unit.agent.world import BUCKET, PLACE, START, UUID, FakeServer, World


def up_to(number: int) -> GtidSet:
    return GtidSet.parse(f"{UUID}:1-{number}")


def names(*numbers: int) -> list[str]:
    return [f"binlog.{number:06d}" for number in numbers]


def test_until_says_which_transactions_are_there_until_when(world: World) -> None:
    said = world.commits(2, 3)
    assert world.until == said
    assert (said.gtids, said.server, said.writer) == (up_to(5), str(UUID), "one")
    assert said.newest.endswith("-binlog.000002")
    assert world.stored() == names(1, 2)


def test_a_log_is_closed_for_transactions_alone(world: World) -> None:
    first = world.commits(1)
    second = world.round()
    assert world.server.listed() == [1, 2]
    assert (second.gtids, second.newest, second.moment > first.moment) == (first.gtids, first.newest, True)


def test_each_log_in_s3_says_the_set_before_it_and_the_set_in_it(world: World) -> None:
    said = world.commits(2, 3)
    found = Facts.of_metadata(world.s3.head_object(Bucket=BUCKET, Key=said.newest)["Metadata"])
    assert found is not None
    assert (found.before, found.own) == (up_to(2), GtidSet.parse(f"{UUID}:3-5"))
    assert (found.opened_by_rotation, found.closed_by_rotation) == (True, True)


def test_sets_that_are_too_long_for_that_are_in_the_log_alone(world: World) -> None:
    for number in range(1, 1200, 2):
        world.server.commit(number)
    start = world.server.now
    world.round()
    said = world.commits(1)
    assert world.s3.head_object(Bucket=BUCKET, Key=said.newest)["Metadata"] == {}
    assert world.restored(start, said.moment).ends == said.gtids


def test_a_moment_of_what_was_copied_is_restored_by_what_the_objects_say(world: World) -> None:
    base = world.server.now
    world.commits(2, 1)
    moment = world.server.now
    said = world.commits(1, 1)
    found = world.restored(base, moment)
    assert (found.last, found.wanted, len(found.logs)) == (f"{UUID}:3", up_to(3), 3)
    assert world.restored(base, said.moment).wanted == up_to(5)


def goes_on_from_a_snapshot(world: World) -> None:
    """Asserts that `until` moves again after it was removed, and not before."""
    known = world.until
    with pytest.raises(HeldError, match="transactions are lost"):
        world.commits(1)
    assert world.until == known
    snapshot = world.server.now
    world.remove_until()
    said = world.commits(1)
    assert said.gtids == world.server.executed
    assert world.restored(snapshot, said.moment).wanted == said.gtids


@pytest.mark.parametrize("unlisted", [True, False], ids=["purged", "files"])
@pytest.mark.parametrize("restarts", [False, True])
def test_logs_that_were_removed_before_they_were_copied_hold_it(world: World, unlisted: bool, restarts: bool) -> None:
    base = world.server.now
    said = world.commits(1, 1)
    for _ in range(2):
        world.server.commit()
        world.server.close_log()
    # The second of the two is copied all the same.
    world.server.purge(3, unlisted=unlisted)
    if restarts:
        world.restart("two")
    with pytest.raises(HeldError, match=f"transactions are lost, .*: {UUID}:3. s3://{BUCKET}/{PLACE}until stays"):
        world.round()
    assert world.until == said
    assert names(4)[0] in world.stored()
    goes_on_from_a_snapshot(world)
    with pytest.raises(PointInTimeError, match=f"{UUID}:3 between them is missing"):
        world.restored(base, world.server.now - timedelta(seconds=4))


def test_the_last_closed_log_without_its_file_holds_it(world: World) -> None:
    world.commits(1)
    world.server.commit()
    world.server.close_log()
    world.server.purge(2, unlisted=False)
    world.copier._closed = str(world.server.executed)
    with pytest.raises(HeldError, match=f"transactions are lost, .*: {UUID}:2"):
        world.round()


def test_copied_logs_that_the_server_removes_are_no_gap(world: World) -> None:
    said = world.commits(1, 1)
    world.server.purge(1, 2)
    assert world.round().newest == said.newest
    world.restart("two")
    assert world.round().gtids == up_to(2)
    assert world.commits(1).gtids == up_to(3)


def test_logs_that_begin_anew_hold_it(world: World) -> None:
    world.commits(3)
    world.server.reset()
    with pytest.raises(HeldError, match=f"transactions are lost, .*: {UUID}:2-3"):
        world.commits(1)


@pytest.mark.parametrize("index", ["", None])
def test_an_index_that_is_empty_or_not_there_says_nothing(world: World, index: str | None) -> None:
    said = world.commits(1)
    path = world.server.datadir / "binlog.index"
    path.unlink() if index is None else path.write_text(index)
    world.server.away = True
    with pytest.raises(ServerError):
        world.round()
    world.server.away = False
    with pytest.raises(Exception, match=r"binlog.index"):
        world.round()
    assert world.until == said


def test_it_holds_while_the_server_runs_with_what_loses_transactions(world: World) -> None:
    said = world.commits(1)
    world.server.wrong = {"sync_binlog": "0"}
    with pytest.raises(HeldError, match="runs with sync_binlog=0 and needs sync_binlog=1"):
        world.commits(1)
    assert world.until == said
    world.server.wrong = {}
    # What was written meanwhile is closed, whatever gtid_executed says of it.
    assert world.round().gtids == up_to(2)


class TestAnAnswerThatIsLost:
    """S3 has what was sent, and nobody was told."""

    def test_of_a_log(self, world: World) -> None:
        world.commits(1)
        world.remove_until()
        world.restart()
        assert world.round().gtids == up_to(1)
        assert world.stored() == names(1, 2)

    def test_of_until(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        world.commits(1)
        written = world.copier._bucket.write

        def lost(*words: Any) -> None:
            written(*words)
            raise ConnectionError("no answer")

        monkeypatch.setattr(world.copier._bucket, "write", lost)
        with pytest.raises(ConnectionError):
            world.commits(1)
        monkeypatch.undo()
        assert world.commits(1).gtids == up_to(3)


class TestAnotherServer:
    """It writes `until` of the same place."""

    @pytest.fixture
    def other(self, world: World, s3: Any, tmp_path: Path) -> World:
        """A server on a copy of the volume, of the same UUID, which lacks the last transaction."""
        world.commits(2)
        world.server.commit()
        shutil.copytree(world.server.datadir, tmp_path / "copy")
        server = FakeServer(tmp_path / "copy", executed=world.server.executed, number=world.server.number)
        world.commits(1)
        server.now = world.server.now
        server.start()
        return World(server, s3, "other")

    def test_while_one_lives_the_others_logs_are_copied_and_not_vouched_for(self, world: World, other: World) -> None:
        with pytest.raises(HeldError, match=r"is written for server .* by allocation one"):
            other.commits(1)
        assert world.until
        assert world.until.writer == "one"
        # The third of the restored server, and its second, which is shorter than the old one's.
        assert "binlog.000003" in other.stored()
        assert any(name.startswith("binlog.000002-") for name in other.stored())

    def test_once_it_is_gone_the_other_goes_on(self, world: World, other: World) -> None:
        other.server.tick(600)
        said = other.commits(2)
        assert (said.writer, said.gtids) == ("other", up_to(5))
        assert other.restored(said.moment - timedelta(seconds=3), said.moment).wanted == up_to(5)
        with pytest.raises(PointInTimeError, match=f"had not {UUID}:4 of the logs before it"):
            other.restored(START + timedelta(seconds=1), said.moment)

    def test_the_one_that_was_there_first_holds_too(self, world: World, other: World) -> None:
        other.server.tick(600)
        other.commits(1)
        world.server.tick(600)
        with pytest.raises(HeldError, match="by allocation other"):
            world.commits(1)

    def test_two_with_equal_numbers_are_still_two(self, world: World, other: World) -> None:
        """The other one's transactions have the numbers of the first one's."""
        other.server.tick(600)
        assert other.commits(1).gtids == up_to(4)
        world.server.tick(600)
        with pytest.raises(HeldError, match="by allocation other"):
            world.round()

    def test_the_same_server_in_a_new_allocation_goes_on_at_once(self, world: World) -> None:
        world.commits(1)
        world.server.stop(kill=True)
        world.server.start()
        world.restart("two")
        assert world.commits(1).writer == "two"


class TestUntilOfAnEarlierRelease:
    """It says which log is the newest, and not what is in it."""

    def said(self, world: World, text: str) -> None:
        world.s3.put_object(Bucket=BUCKET, Key=PLACE + UNTIL, Body=text.encode())

    def test_it_is_gone_on_from_by_that_log(self, world: World) -> None:
        known = world.commits(2, 1)
        body = world.s3.get_object(Bucket=BUCKET, Key=known.newest)["Body"].read()
        world.s3.put_object(Bucket=BUCKET, Key=known.newest, Body=body)
        world.server.purge(1, 2)
        text = f"{known.moment:%Y-%m-%dT%H:%M:%SZ}\nserver {UUID}\nwriter zero\nnewest {known.newest}\n"
        self.said(world, text)
        world.restart("two")
        assert world.commits(1).gtids == up_to(4)
        self.said(world, text)
        world.server.purge(3)
        world.restart("three")
        with pytest.raises(HeldError, match=f"transactions are lost, .*: {UUID}:4"):
            world.commits(1)

    def test_what_nobody_wrote_is_told(self, world: World) -> None:
        for text in ("tomorrow", "2026-11-22T10:00:00Z\ngtids x"):
            self.said(world, text)
            with pytest.raises(HeldError, match=r"begins with .*: somebody else wrote it"):
                world.commits(1)

    def test_a_key_of_another_place_is_not_read(self, world: World) -> None:
        world.s3.put_object(Bucket=BUCKET, Key="secret", Body=b"x")
        self.said(world, f"2026-11-22T10:00:00Z\nserver {UUID}\nwriter zero\nnewest secret\n")
        world.server.tick(600)
        assert world.commits(1).gtids == up_to(1)


def test_until_is_read_as_it_is_written() -> None:
    world = Until.parse("2026-11-22T10:00:00Z\nserver a\nwriter b\nnewest c\ngtids \n")
    assert world.gtids == GtidSet()
    assert Until.parse(world.text()) == world
