"""A group becomes a single server again, whose logs go to the same place."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import reduce
from operator import or_

import pytest

from nomad_stateful.agent.copies.model import HeldError
from nomad_stateful.databases.mysql.archive import facts
from nomad_stateful.databases.mysql.gtids import GtidSet
from nomad_stateful.operate.point_in_time.logs import PointInTimeError
from tests.unit.agent.members import GROUP, Group, up_to
from tests.unit.agent.world import BUCKET, FakeServer, World

SECOND = timedelta(seconds=1)


def single(group: Group, name: str = "m-1", *, after_s: float = 150) -> World:
    """A member that goes on as a single server, so long after the group's end."""
    server = group.members[name].server
    server.now = group.now
    server.stop()
    server.is_secondary, server.group = False, None
    server.tick(after_s)
    server.start()
    return World(server, group.primary.s3, "of-single")


def own(server: FakeServer, *numbers: int) -> GtidSet:
    return GtidSet.parse(f"{server.uuid}:{':'.join(map(str, numbers))}")


def copied(world: World) -> GtidSet:
    """All transactions of the logs in S3."""
    logs = (world.s3.get_object(Bucket=BUCKET, Key=key)["Body"] for key in world.sizes())
    return reduce(or_, (facts("log", log).own for log in logs))


def falls_behind(group: Group) -> tuple[datetime, datetime]:
    """Has m-1 close a log while it lacks the sixth row; returns when the log began, and when that row was written."""
    group.elect("m-2")
    group.commit(4)
    group.round("m-2")
    group.close("m-1")
    began = group.now
    group.commit()
    group.behind = ("m-1",)
    written = group.commit()
    group.close("m-1")
    group.members["m-1"].server.take(6, written, replicated=True)
    group.behind = ()
    group.commit()
    return began, written


def test_its_logs_go_on_from_those_of_the_group(group: Group) -> None:
    base = group.now
    moments = [group.commit(), group.commit()]
    group.round("m-1")
    group.elect("m-2")
    moments.append(group.commit())
    group.round("m-2")
    group.close("m-1")
    group.elect("m-1")
    moments.append(group.commit())
    before = group.primary.sizes()
    alone = single(group)
    snapshot = alone.server.now
    said = alone.commits(1)
    assert said.gtids == alone.server.executed == copied(alone) == up_to(4) | own(alone.server, 5)
    # Of its logs as a member the one alone that nobody copied, under a name that says so.
    assert alone.sizes().keys() - before.keys() == {alone.key(3).replace("Z-", "Z-member-"), alone.key(4)}
    for number, moment in enumerate(moments, 1):
        assert alone.restored(base, moment).wanted == up_to(number)
    with pytest.raises(PointInTimeError, match=f"`--to {moments[-1]:%Y-%m-%dT%H:%M:%SZ}`"):
        alone.restored(base, said.moment)
    assert alone.restored(snapshot, said.moment).wanted == said.gtids
    assert alone.commits(1).gtids == said.gtids | own(alone.server, 6)
    assert alone.restored(base, moments[2]).wanted == up_to(3)


@pytest.mark.parametrize("last", ["m-1", "m-2"])
def test_the_time_at_which_it_closed_a_log_as_a_member_proves_nothing(group: Group, last: str) -> None:
    """Whether the logs of the former primary have the transactions, or its own alone."""
    snapshot, written = falls_behind(group)
    if last == "m-2":
        group.round("m-2")
        assert group.restored(snapshot, written).wanted == up_to(6)
    group.elect("m-1")
    alone = single(group)
    said = alone.commits(1)
    assert (said.gtids, copied(alone)) == (alone.server.executed, alone.server.executed)
    assert alone.restored(snapshot, written).wanted == up_to(6)


def test_a_server_that_lacks_what_the_group_copied_proves_nothing_by_its_logs_either(group: Group) -> None:
    snapshot, written = falls_behind(group)
    group.behind = ("m-1",)
    group.commit()
    said = group.round("m-2")
    alone = single(group, after_s=60)
    with pytest.raises(HeldError, match=f"written for server {said.server} by allocation of-m-2"):
        alone.round()
    alone.server.tick(60)
    assert alone.commits(1).gtids == up_to(7) | own(alone.server, 8)
    assert alone.restored(snapshot, written).wanted == up_to(6)


def test_another_member_may_live_for_two_minutes_and_its_own_allocation_is_gone(group: Group) -> None:
    group.elect("m-2")
    group.commit()
    known = group.round("m-2")
    alone = single(group, after_s=10)
    for _ in range(2):
        with pytest.raises(HeldError, match=r"written for server .* by allocation of-m-2"):
            alone.commits(1)
    assert (alone.until, copied(alone)) == (known, alone.server.executed)
    alone.server.tick(120)
    assert alone.round().gtids == alone.server.executed


def test_it_goes_on_at_once_from_what_it_copied_itself(group: Group) -> None:
    group.commit(2)
    group.round("m-1")
    alone = single(group, after_s=10)
    assert alone.commits(1).gtids == alone.server.executed


@pytest.mark.parametrize("forgotten", [False, True], ids=["held", "after until was removed"])
def test_a_log_that_was_removed_before_anybody_copied_it_holds_until(group: Group, forgotten: bool) -> None:
    base = group.now
    group.elect("m-2")
    group.commit()
    known = group.round("m-2")
    group.close("m-1")
    group.commit()
    group.close("m-1")
    last = group.commit()
    alone = single(group)
    alone.server.purge(1, 2)
    with pytest.raises(HeldError, match=f"transactions are lost, .*: {GROUP}:2"):
        alone.commits(1)
    assert alone.until == known
    assert up_to(1) | own(alone.server, 4) <= copied(alone)
    if forgotten:
        alone.remove_until()
        alone.restart("another")
        snapshot = alone.server.now
        said = alone.commits(1)
        assert alone.restored(snapshot, said.moment).wanted == said.gtids
        with pytest.raises(PointInTimeError, match=f"{GROUP}:2 between them is missing"):
            alone.restored(base, last)
        assert [name for name in alone.stored() if name.endswith("000003")] == ["member-binlog.000003"]


def test_transactions_that_it_never_logged_are_those_of_the_others_logs(
    group: Group, new_server: Callable[..., FakeServer]
) -> None:
    """It had a copy of another member's data."""
    base = group.now
    group.commit(2)
    group.round("m-1")
    moment = group.commit(2)
    group.add_copy(new_server, 4)
    alone = single(group, "m-4")
    with pytest.raises(HeldError, match=f"transactions are lost, .*: {GROUP}:3-4"):
        alone.round()
    group.round("m-1")
    alone.server.tick(600)
    assert alone.round().gtids == GtidSet()
    # What a single server logged says nothing of what members did.
    assert alone.restored(base, moment).wanted == up_to(4)
    with pytest.raises(PointInTimeError, match="is the last log that its server copied"):
        alone.restored(base, moment + SECOND)
    assert alone.commits(1).gtids == own(alone.server, 5)


def test_a_log_of_a_member_that_had_a_copy_of_anothers_data_comes_after_it(
    group: Group, new_server: Callable[..., FakeServer]
) -> None:
    group.commit(4)
    group.round("m-1")
    group.add_copy(new_server, 4)
    group.commit()
    alone = single(group, "m-4")
    alone.round()
    key = alone.key(1).replace("Z-", "Z-member-")
    found = alone.facts(key)
    assert found
    assert (found.before, found.own) == (up_to(4), GtidSet.parse(f"{GROUP}:5"))


def test_once_it_is_alone_its_logs_are_a_single_servers(group: Group) -> None:
    group.commit()
    group.round("m-1")
    alone = single(group)
    snapshot = alone.server.now
    written = alone.commits(1, 1).moment
    alone.server.stop()
    alone.server.start()
    later = alone.server.now
    alone.server.commit()
    alone.server.stop()
    alone.server.start()
    alone.remove_until()
    alone.restart("another")
    said = alone.commits(1)
    assert [name for name in alone.stored() if name.startswith("member-")] == [
        "member-binlog.000001",
        "member-binlog.000002",
    ]
    assert alone.restored(later, said.moment).wanted == said.gtids
    assert alone.restored(snapshot, written).wanted == up_to(1) | own(alone.server, 2, 3)
    assert alone.restored(snapshot, said.moment).wanted == said.gtids


def test_where_the_log_of_its_start_is_gone_those_before_it_are_a_members(group: Group) -> None:
    group.commit()
    group.round("m-1")
    group.commit()
    alone = single(group)
    alone.server.close_log()
    alone.server.purge(3, unlisted=False)
    with pytest.raises(HeldError, match=r"are lost, .*: those between binlog\.000002 and binlog\.000004"):
        alone.commits(1)
    assert "member-binlog.000002" in alone.stored()


def test_what_it_wrote_alone_without_a_gtid_is_copied_whichever_start_it_was(group: Group) -> None:
    base = group.now
    group.commit()
    group.round("m-1")
    alone = single(group)
    alone.server.anonymous()
    alone.server.close_log()
    written = alone.server.tick()
    alone.server.commit()
    alone.server.stop()
    alone.server.tick(60)
    alone.server.start()
    said = alone.commits(1)
    assert said.gtids == alone.server.executed
    with pytest.raises(PointInTimeError, match="has a transaction without a GTID"):
        alone.restored(base, written + SECOND)
