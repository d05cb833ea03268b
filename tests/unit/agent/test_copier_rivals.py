"""Another server writes `until` of the same place."""

from __future__ import annotations

import shutil
import uuid
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from nomad_stateful.agent.copies.model import HeldError
from nomad_stateful.databases.mysql.archive import UNTIL
from nomad_stateful.operate.point_in_time.logs import PointInTimeError
from tests.unit.agent.world import BUCKET, PLACE, START, UUID, FakeServer, World, names, up_to


class TestOnACopyOfTheVolume:
    """It has this one's UUID."""

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


class TestOfAnotherUuid:
    """Two stacks have one place, or one failed over to an empty volume."""

    @pytest.fixture
    def other(self, s3: Any, tmp_path: Path) -> World:
        server = FakeServer(tmp_path / "other", uuid.UUID("99999999-71ca-11e1-9e33-c80aa9429562"))
        server.start()
        return World(server, s3, "other")

    def test_while_it_lives_the_logs_are_copied_and_not_vouched_for(self, world: World, other: World) -> None:
        said = other.commits(1, 1)
        world.server.now = other.server.now
        for _ in range(2):
            with pytest.raises(HeldError, match=f"is written for server {said.server} by allocation other"):
                world.commits(1)
        assert world.until == said
        assert {world.key(number) for number in (1, 2)} < set(world.sizes())
        world.server.tick(600)
        assert (world.commits(1).writer, world.round().gtids) == ("one", up_to(3))

    def test_the_one_that_was_there_first_holds_too(self, world: World, other: World) -> None:
        world.commits(1)
        other.server.now = world.server.tick(600)
        said = other.commits(1)
        with pytest.raises(HeldError, match=f"is written for server {said.server} by allocation other"):
            world.commits(1)
        assert world.until == said
        assert world.key(2) in world.sizes()


def test_two_that_write_it_at_once_do_not_both(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    known = world.commits(1)
    written = world.copier._bucket.write

    def late(key: str, text: str, seen: Any) -> None:
        world.put(PLACE + UNTIL, known.text().encode() + b"more of another\n")
        written(key, text, seen)

    monkeypatch.setattr(world.copier._bucket, "write", late)
    with pytest.raises(HeldError, match="was written by another one meanwhile"):
        world.commits(1)
    assert world.until == known
    monkeypatch.undo()
    assert world.round().gtids == up_to(2)


def test_the_same_server_in_a_new_allocation_goes_on_at_once(world: World) -> None:
    world.commits(1, 1)
    world.server.stop(kill=True)
    world.server.start()
    # What the other allocation vouched for is not gone through again.
    world.s3.delete_object(Bucket=BUCKET, Key=world.key(1))
    world.restart("two")
    assert world.commits(1).writer == "two"
    assert world.stored() == names(2, 3, 4)
