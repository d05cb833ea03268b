"""Binary logs that are gone before they are copied: `until` stays where it was."""

from __future__ import annotations

from datetime import timedelta

import pytest

from nomad_stateful.agent.copies.model import HeldError
from nomad_stateful.databases.mysql.gtids import GtidSet
from nomad_stateful.operate.point_in_time.logs import PointInTimeError
from tests.unit.agent.world import BUCKET, PLACE, UUID, World, names, up_to


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


def test_the_last_copy_may_be_the_servers_first_log(world: World) -> None:
    world.commits(1, 1)
    world.server.purge(1)
    assert world.commits(1, 1).gtids == up_to(4)
    assert world.stored() == names(1, 2, 3, 4)


@pytest.mark.parametrize("restarts", [False, True])
def test_all_closed_logs_that_were_removed_before_they_were_copied_hold_it(world: World, restarts: bool) -> None:
    said = world.commits(1)
    for _ in range(2):
        world.server.commit()
        world.server.close_log()
    world.server.purge(1, 2, 3)
    world.copier._closed = str(world.server.executed)
    if restarts:
        world.restart("two")
    with pytest.raises(HeldError, match=f"transactions are lost, .*: {UUID}:2-3"):
        world.round()
    assert world.until == said
    goes_on_from_a_snapshot(world)


@pytest.mark.parametrize("unlisted", [True, False], ids=["purged", "files"])
def test_another_servers_logs_of_their_names_stand_for_none_of_them(world: World, unlisted: bool) -> None:
    """As after a failover: one place in S3, the same names, other times."""
    said = world.commits(1)
    world.server.commit()
    world.server.close_log()
    world.put(f"{PLACE}20261122T090000Z-binlog.000002", world.server.path(2).read_bytes())
    world.server.purge(2, unlisted=unlisted)
    world.restart("two")
    with pytest.raises(HeldError, match=f"transactions are lost, .*: {UUID}:2"):
        world.commits(1)
    assert world.until == said
    assert names(3)[0] in world.stored()


@pytest.mark.parametrize("unlisted", [True, False], ids=["purged", "files"])
@pytest.mark.parametrize("numbers", [(2,), (2, 3), (2, 3, 4)])
def test_no_log_is_taken_for_one_that_had_nothing(world: World, unlisted: bool, numbers: tuple[int, ...]) -> None:
    """What was committed without a GTID is in no set of them."""
    base = world.server.now
    said = world.commits(1)
    for _ in range(3):
        world.server.anonymous()
        world.server.close_log()
    world.server.purge(*([1] * unlisted), *numbers, unlisted=unlisted)
    last = numbers[-1] + 1
    for allocation in ("", "two", ""):
        if allocation:
            world.restart(allocation)
        with pytest.raises(HeldError, match=f"are lost, .*: those between binlog.000001 and binlog.00000{last}"):
            world.round()
    assert world.until == said
    with pytest.raises(PointInTimeError, match="reach until"):
        world.restored(base, world.server.now)


def test_a_log_that_cannot_be_read_is_one_that_is_gone(world: World) -> None:
    """As one from while the server's logs were encrypted: the key is on its volume alone."""
    world.commits(1)
    world.server.commit()
    world.server.close_log()
    path = world.server.path(2)
    path.write_bytes(b"\xfd" + path.read_bytes()[1:])
    with pytest.raises(HeldError, match=f"transactions are lost, .*: {UUID}:2"):
        world.commits(1)
    assert world.stored() == names(1, 3)
    goes_on_from_a_snapshot(world)


class TestLogsThatBeginAnew:
    """As after RESET BINARY LOGS AND GTIDS: other transactions have the numbers of those that are in S3."""

    @pytest.mark.parametrize("allocation", ["one", "two"])
    def test_with_fewer_transactions_they_hold_it(self, world: World, allocation: str) -> None:
        said = world.commits(3)
        world.server.reset()
        world.restart(allocation)
        world.server.tick(600)
        world.server.commit()
        for _ in range(2):
            with pytest.raises(HeldError, match=f"transactions are lost, .*: {UUID}:2-3"):
                world.round()
        assert world.until == said

    @pytest.mark.parametrize("allocation", ["", "one", "two"])
    @pytest.mark.parametrize("logs", [1, 3])
    def test_also_where_no_transaction_was_copied_before(self, world: World, allocation: str, logs: int) -> None:
        base = world.server.now
        for _ in range(logs):
            world.restart()
            said = world.round()
        world.server.commit()
        world.server.reset()
        if allocation:
            world.restart(allocation)
        world.server.tick(600)
        with pytest.raises(HeldError, match=r"transactions are lost, .*: these logs begin anew"):
            world.commits(1)
        assert (world.until, said.gtids) == (said, GtidSet())
        with pytest.raises(PointInTimeError, match="reach until"):
            world.restored(base, world.server.now)

    @pytest.mark.parametrize("allocation", ["", "one", "two"])
    @pytest.mark.parametrize(("copied", "first"), [(1, 1), (3, 1), (3, 4), (3, 100)])
    def test_with_more_they_hold_it_and_are_copied(
        self, world: World, allocation: str, copied: int, first: int
    ) -> None:
        base = world.server.now
        said = world.commits(*[1] * copied)
        world.server.reset(first)
        for _ in range(copied):
            world.server.commit()
        world.server.close_log()
        if allocation:
            world.restart(allocation)
        world.server.tick(600)
        for _ in range(2):
            with pytest.raises(HeldError, match="transactions are lost"):
                world.commits(1)
        assert world.until == said
        assert world.key(first) in world.sizes()
        goes_on_from_a_snapshot(world)
        with pytest.raises(PointInTimeError, match="of the logs before it"):
            world.restored(base, world.server.now - timedelta(seconds=4))


@pytest.mark.parametrize("index", ["", None])
def test_an_index_that_is_empty_or_not_there_says_nothing(world: World, index: str | None) -> None:
    said = world.commits(1)
    world.server.commit()
    world.server.close_log()
    world.copier._closed = str(world.server.executed)
    path = world.server.datadir / "binlog.index"
    whole = path.read_text()
    path.unlink() if index is None else path.write_text(index)
    with pytest.raises(Exception, match=r"binlog.index"):
        world.round()
    assert world.until == said
    path.write_text(whole)
    assert world.round().gtids == up_to(2)
    assert world.stored() == names(1, 2)
