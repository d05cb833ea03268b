"""Copies of binary logs: what `until` says is in S3."""

from __future__ import annotations

import pytest

from nomad_stateful.agent.copies.model import HeldError
from nomad_stateful.agent.server import NEEDED, ServerError
from nomad_stateful.databases.mysql.archive import Until
from nomad_stateful.databases.mysql.gtids import GtidSet
from nomad_stateful.operate.point_in_time.logs import PointInTimeError
from tests.unit.agent.world import BUCKET, UUID, FakeServer, World, names, up_to


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
    found = world.facts(said.newest)
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


@pytest.mark.parametrize("name", NEEDED)
def test_it_holds_while_the_server_runs_with_what_loses_transactions(world: World, name: str) -> None:
    said = world.commits(1)
    world.server.wrong = {name: "OTHER"}
    with pytest.raises(HeldError, match=f"runs with {name}=OTHER and needs {name}={NEEDED[name]}"):
        world.commits(1)
    world.server.away = True
    with pytest.raises(ServerError):
        world.round()
    world.server.away = False
    with pytest.raises(HeldError, match=f"runs with {name}=OTHER"):
        world.round()
    assert (world.until, world.server.listed()) == (said, [1, 2])
    world.server.wrong = {}
    # What was written meanwhile is closed, whatever gtid_executed says of it.
    assert world.round().gtids == up_to(2)
    assert world.server.listed() == [1, 2, 3]


def test_a_log_that_could_not_be_closed_is_closed_in_the_next_round(world: World) -> None:
    said = world.commits(1)
    world.server.commit()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(FakeServer, "close_log", lambda _server: refuse())
        with pytest.raises(ServerError):
            world.round()
    assert world.until == said
    assert world.round().gtids == up_to(2)


def refuse() -> None:
    raise ServerError("Lost connection to MySQL server during query")


def test_every_wrong_value_is_told(world: World) -> None:
    world.server.wrong = {"gtid_mode": "OFF", "binlog_format": "MIXED"}
    with pytest.raises(HeldError, match="gtid_mode=OFF binlog_format=MIXED and needs gtid_mode=ON binlog_format=ROW"):
        world.round()


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("alone", [False, True])
def test_transactions_without_a_gtid_are_copied_and_not_restored(world: World, restarts: bool, alone: bool) -> None:
    """As the logs from before the settings were made, or while gtid_mode was another."""
    base = world.server.now
    world.server.anonymous()
    world.server.close_log()
    world.commits(1)
    snapshot = world.server.now
    if not alone:
        world.server.commit()
    world.server.anonymous()
    world.server.close_log()
    world.round()
    if restarts:
        world.restart("two")
        # The log before it may say no more.
        world.server.purge(1, 2)
    later = world.server.now
    said = world.commits(1)
    assert (said.gtids, world.stored()[:3]) == (world.server.executed, names(1, 2, 3))
    assert world.restored(later, said.moment).wanted == said.gtids
    for begins in (base, snapshot):
        with pytest.raises(PointInTimeError, match="has a transaction without a GTID"):
            world.restored(begins, said.moment)


def test_until_is_read_as_it_is_written() -> None:
    world = Until.parse("2026-11-22T10:00:00Z\nserver a\nwriter b\nnewest c\ngtids \n")
    assert world.gtids == GtidSet()
    assert Until.parse(world.text()) == world
