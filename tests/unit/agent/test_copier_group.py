"""The members of a group copy to one place: whichever is the primary goes on with what the group committed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from nomad_stateful.agent.copies.model import HeldError
from nomad_stateful.databases.mysql.archive import LogName
from nomad_stateful.databases.mysql.gtids import GtidSet, Origin
from nomad_stateful.operate.point_in_time.logs import PointInTimeError
from tests.unit.agent.members import GROUP, Group, up_to
from tests.unit.agent.world import BUCKET, PLACE, START, FakeServer, World

MARK = "b2b2b2b2-0000-4000-8000-00000000000b:1"


def test_a_secondary_closes_its_log_and_copies_nothing(group: Group) -> None:
    group.commit(2)
    group.close("m-2")
    secondary = group.members["m-2"]
    assert (secondary.server.listed(), secondary.sizes(), secondary.until) == ([1, 2], {}, None)


def test_logs_of_one_name_and_second_are_two_objects(group: Group) -> None:
    group.commit()
    group.round("m-1")
    group.behind = ("m-1",)
    group.elect("m-2")
    group.commit()
    said = group.round("m-2")
    assert said.gtids == up_to(2)
    names = [LogName.parse(key.removeprefix(PLACE)) for key in group.primary.sizes()]
    assert {(one.began, one.name, one.member) for one in names if one} == {
        (START + timedelta(seconds=1), "m-1-binlog.000001", "m-1"),
        (START + timedelta(seconds=1), "m-2-binlog.000001", "m-2"),
    }


def test_the_next_primary_goes_on_at_once_with_what_is_not_copied(group: Group) -> None:
    base = group.now
    group.commit(3)
    group.round("m-1")
    group.close("m-2")
    group.behind = ("m-1",)
    # The former primary has these in a log that nobody will copy.
    missed = group.commit(2)
    group.elect("m-2")
    group.commit()
    said = group.round("m-2")
    assert (said.gtids, said.writer) == (up_to(6), "of-m-2")
    # Its first log has what the former primary's copied one has.
    assert [key.partition("Z-")[2] for key in group.primary.sizes()] == ["m-1-binlog.000001", "m-2-binlog.000002"]
    found = group.restored(base, missed)
    assert (found.wanted, found.last, found.begins) == (up_to(5), f"{GROUP}:5", GtidSet())
    assert [log.member for log in found.logs] == ["m-1", "m-2"]
    assert group.restored(base, said.moment).wanted == up_to(6)


def test_logs_that_overlap_are_applied_by_their_gtids(group: Group) -> None:
    base = group.now
    first = group.commit(3)
    group.round("m-1")
    group.behind = ("m-1",)
    group.elect("m-2")
    second = group.commit(2)
    group.round("m-2")
    found = group.restored(base, second)
    assert (len(found.logs), found.last, found.wanted, found.ends) == (2, f"{GROUP}:5", up_to(5), up_to(5))
    # A time of the part that both have ends in the first.
    found = group.restored(base, first - timedelta(seconds=1))
    assert (len(found.logs), found.last, found.wanted, found.ends) == (1, f"{GROUP}:2", up_to(2), up_to(3))
    # And one behind it, before what the second alone has: the first cannot say that nothing is missing.
    found = group.restored(base, first)
    assert (found.last, found.wanted) == (f"{GROUP}:3", up_to(3))


def test_a_member_with_nothing_new_vouches_all_the_same(group: Group) -> None:
    group.commit()
    first = group.round("m-1")
    group.close("m-2")
    group.elect("m-2")
    group.tick(600)
    said = group.round("m-2")
    assert (said.gtids, said.newest, said.moment > first.moment) == (up_to(1), first.newest, True)
    assert len(group.primary.sizes()) == 1
    assert group.restored(START + timedelta(seconds=1), said.moment - timedelta(seconds=60)).wanted == up_to(1)


def test_a_lull_is_whole_as_far_as_until_says_and_no_further(group: Group) -> None:
    base = group.now
    quiet = group.commit(2)
    group.round("m-1")
    group.tick(100)
    said = group.round("m-1")
    assert group.restored(base, quiet + timedelta(seconds=60)).wanted == up_to(2)
    group.primary.put(PLACE + "until", said.text().replace(":1-2", ":1-3").encode())
    with pytest.raises(PointInTimeError, match="is the last log that its server copied") as error:
        group.restored(base, quiet + timedelta(seconds=60))
    # When a member closed its log says nothing: only its transactions do.
    assert f"`--to {quiet:%Y-%m-%dT%H:%M:%SZ}`" in str(error.value)


def test_a_copy_of_another_members_data_has_transactions_before_all_of_its_logs(
    group: Group, new_server: Callable[..., FakeServer]
) -> None:
    group.commit(3)
    group.round("m-1")
    group.add_copy(new_server, 3)
    group.elect("m-4")
    base = group.now + timedelta(seconds=3)
    group.commit(2)
    said = group.round("m-4")
    assert said.gtids == up_to(5)
    found = group.primary.facts(said.newest)
    assert found
    assert (found.before, found.own) == (up_to(3), GtidSet.parse(f"{GROUP}:4-5"))
    assert group.restored(base, said.moment).wanted == up_to(5)


def test_a_copy_with_transactions_that_nobody_copied_is_held(
    group: Group, new_server: Callable[..., FakeServer]
) -> None:
    group.commit(3)
    said = group.round("m-1")
    group.commit()
    group.add_copy(new_server, 4)
    group.elect("m-4")
    group.commit()
    with pytest.raises(HeldError, match=f"transactions are lost, .*: {GROUP}:4"):
        group.round("m-4")
    assert group.primary.until == said
    group.primary.remove_until()
    assert group.round("m-4").gtids == up_to(5)


def test_a_former_primary_does_not_write_after_the_next_one(group: Group) -> None:
    group.commit()
    said = group.round("m-1")
    former = group.members["m-1"]
    with pytest.raises(HeldError, match="written by another member meanwhile"):
        former.copier.round(said.moment - timedelta(seconds=5))
    assert former.until == said


def test_one_place_is_not_for_two_groups_nor_for_one_that_goes_on_from_an_older_volume(
    group: Group, s3: Any, new_server: Callable[..., FakeServer]
) -> None:
    group.commit(3)
    said = group.round("m-1")
    stored = group.primary.sizes()
    older = World(new_server("older", executed=up_to(2), unlogged=up_to(2)), s3, "of-older", "older")
    older.server.now = group.now + timedelta(days=1)
    older.server.take(4, older.server.now)
    held = f"does not have .{GROUP}:3.: .* Set another pointInTime"
    with pytest.raises(HeldError, match=held):
        older.round()
    # Also once it has another one of that number, whichever of its logs has it.
    older.server.take(3, older.server.now)
    for number in (5, 6):
        with pytest.raises(HeldError, match=held):
            older.round()
        older.server.take(number, older.server.now)
    assert (older.until, older.sizes()) == (said, stored)


def test_what_was_lost_with_the_members_that_had_it_is_held_once_others_have_its_names(group: Group) -> None:
    """Also where sessions that committed at once were logged in another order than the group's."""
    group.commit(2)
    group.behind = ("m-3",)
    lost, common = group.now + timedelta(seconds=1), group.now + timedelta(seconds=2)
    for name in ("m-1", "m-2"):
        group.members[name].server.take(4, lost, replicated=name == "m-2")
        group.members[name].server.take(3, common, replicated=name == "m-2")
    group.tick(2)
    group.members["m-3"].server.take(3, common, replicated=True)
    # A start of the server ends a log without a transaction, which is copied with the one before it.
    group.primary.server.close_log()
    said = group.round("m-1")
    group.elect("m-3")
    group.behind, group.number = ("m-1", "m-2"), 3
    group.commit(2)
    with pytest.raises(HeldError, match=f"does not have .{GROUP}:4.: .* without members that alone had them"):
        group.round("m-3")
    assert group.primary.until == said
    # And where it becomes a single server then.
    server = group.primary.server
    server.group, server.is_secondary = None, False
    server.tick(150)
    with pytest.raises(HeldError, match=f"does not have .{GROUP}:4."):
        World(server, group.primary.s3, "of-single").commits(1)


def test_a_log_of_until_that_is_gone_or_no_log_is_compared_with_nothing(group: Group) -> None:
    group.commit()
    newest = group.round("m-1").newest
    group.primary.put(newest, b"no log")
    group.elect("m-2")
    group.commit()
    said = group.round("m-2")
    assert said.gtids == up_to(2)
    group.primary.s3.delete_object(Bucket=BUCKET, Key=said.newest)
    group.elect("m-3")
    assert group.round("m-3").gtids == up_to(2)


def test_a_single_server_that_becomes_a_group_is_restored_from_a_snapshot_of_after_it(world: World, s3: Any) -> None:
    base = world.server.now
    world.commits(2)
    last = base + timedelta(seconds=2)
    world.server.commit()
    executed = world.server.executed | GtidSet.parse(MARK)
    world.server.reset()
    server = world.server
    server.executed = server.unlogged = executed
    server.group = Origin(GROUP)
    member = World(server, s3, "of-m-1", "m-1")
    with pytest.raises(HeldError, match="by allocation one"):
        member.round()
    server.tick(120)
    after = server.now
    server.take(1, server.tick())
    said = member.round()
    assert said.gtids == executed | up_to(1)
    assert member.restored(base, last).wanted == GtidSet.parse(f"{server.uuid}:1-2")
    with pytest.raises(PointInTimeError, match="is missing"):
        member.restored(base, said.moment)
    found = member.restored(after, said.moment)
    assert (found.begins, found.wanted) == (executed, said.gtids)
