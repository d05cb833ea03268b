"""A group becomes a single server, whose MySQL or agent starts again before `until` is that server's."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from nomad_stateful.agent.copies.model import HeldError
from nomad_stateful.databases.mysql.archive import LogName
from nomad_stateful.databases.mysql.gtids import Origin
from tests.unit.agent.members import GROUP, Group, up_to
from tests.unit.agent.test_copier_returns import falls_behind, own, single
from tests.unit.agent.world import PLACE, FakeServer, World, fault, names


def starts_again(world: World) -> datetime:
    """MySQL alone; returns when."""
    world.server.stop()
    world.server.tick(5)
    world.server.start()
    return world.server.now


def held(world: World) -> None:
    with pytest.raises(HeldError, match=r"written for server .* by allocation"):
        world.round()


def owners(world: World) -> dict[str, str]:
    """Who wrote each log of the server in S3, by its name there: "member", or "" for the single server."""
    found = (LogName.parse(key.removeprefix(PLACE)) for key in world.sizes())
    return {one.name[-13:]: one.member for one in found if one and one.member in ("", "member")}


@pytest.mark.parametrize("copies", [True, False], ids=["copied before", "S3 was away"])
def test_mysql_starts_again_while_until_is_another_members(
    group: Group, s3: Any, new_server: Callable[..., FakeServer], copies: bool
) -> None:
    """The server has transactions that it never logged."""
    base = group.now
    written = group.commit(4)
    group.add_copy(new_server, 4)
    group.round("m-1")
    alone = single(group, "m-4", after_s=10)
    with nullcontext() if copies else fault(s3, "PutObject"), pytest.raises(HeldError if copies else ClientError):
        alone.round()
    starts_again(alone)
    alone.server.tick(120)
    if not copies:
        with pytest.raises(HeldError, match="no binary log that the server wrote alone is closed yet"):
            alone.round()
    said = alone.round()
    named = LogName.parse(said.newest.removeprefix(PLACE))
    assert named
    assert not named.member
    assert alone.commits(1).gtids == own(alone.server, 5)
    assert alone.restored(base, written).wanted == up_to(4)


@pytest.mark.parametrize("agent", ["the same", "another"])
def test_what_it_wrote_alone_stays_its_own_whoever_starts_again(group: Group, agent: str) -> None:
    group.elect("m-2")
    group.commit()
    group.round("m-2")
    alone = single(group, after_s=10)
    snapshots = [alone.server.now]
    held(alone)
    for _ in range(2):
        # It is in a log that the start closes, and that nobody copied before.
        alone.server.commit()
        snapshots.append(starts_again(alone))
        if agent == "another":
            alone.restart(f"from-{len(snapshots)}")
        held(alone)
    alone.server.tick(120)
    said = alone.commits(1)
    assert owners(alone) == dict.fromkeys(names(*range(2, alone.server.number)), "")
    for snapshot in snapshots:
        assert alone.restored(snapshot, said.moment).wanted == said.gtids


@pytest.mark.parametrize("again", [True, False], ids=["starts again alone", "starts alone once"])
def test_a_member_that_started_after_until_was_a_member(group: Group, again: bool) -> None:
    """It lacks a row as it closes a log, in the last minutes of the group."""
    group.elect("m-2")
    group.commit(4)
    group.round("m-2")
    group.tick(10)
    restarted = group.members["m-1"]
    starts_again(restarted)
    group.now = snapshot = restarted.server.now
    group.behind = ("m-1",)
    written = group.commit()
    group.close("m-1")
    restarted.server.take(5, written, replicated=True)
    alone = single(group, after_s=10)
    held(alone)
    if again:
        starts_again(alone)
        alone.restart("another")
        held(alone)
    alone.server.tick(120)
    alone.commits(1)
    assert alone.restored(snapshot, written).wanted == up_to(5)
    assert {owners(alone)[name] for name in names(2, 3)} == {"member"}
    assert {owners(alone)[name] for name in names(4, 5)} == {""}


def test_it_was_alone_once_before_and_a_member_again_since(group: Group) -> None:
    """Its logs of then are here, and in S3 as a single server's."""
    group.commit()
    group.round("m-1")
    alone = single(group)
    alone.commits(1, 1)
    first = owners(alone)
    alone.server.stop()
    alone.server.group = Origin(GROUP)
    alone.server.start()
    group.now, group.number = alone.server.now, 10
    group.tick(200)
    group.members["m-1"].restart("of-m-1-again")
    group.commit()
    group.round("m-1")
    group.elect("m-2")
    group.commit()
    group.close("m-1")
    snapshot = group.now
    group.commit()
    group.behind = ("m-1",)
    written = group.commit()
    group.close("m-1")
    alone.server.take(group.number, written, replicated=True)
    again = single(group)
    again.commits(1)
    since = {name: owner for name, owner in owners(again).items() if name not in first}
    assert since == dict.fromkeys(names(7, 8, 9), "member") | {"binlog.000010": ""}
    assert up_to(14) - up_to(10) <= again.restored(snapshot, written).wanted


def goes_on_from_an_older_volume(group: Group, folder: Path) -> tuple[FakeServer, datetime, Any]:
    """Has the server go on from its volume as that was when it had closed a log while it was behind.

    Returns it, when it lacked a row, and S3, where a single server's `until` is since.
    """
    _, written = falls_behind(group)
    group.round("m-2")
    group.elect("m-1")
    group.commit()
    member = group.members["m-1"].server
    shutil.copytree(member.datadir, folder)
    restored = replace(member, datadir=folder, is_secondary=False, group=None)
    group.round("m-1")
    alone = single(group)
    alone.commits(1, 1)
    restored.now = alone.server.tick(200)
    restored.start()
    return restored, written, alone.s3


def test_a_server_that_goes_on_from_a_volume_of_the_groups_time_was_a_member_then(group: Group, tmp_path: Path) -> None:
    server, written, s3 = goes_on_from_an_older_volume(group, tmp_path / "older")
    started = server.now
    again = World(server, s3, "of-restored")
    said = again.commits(1)
    assert again.restored(started, said.moment).wanted == said.gtids
    for base in (written - timedelta(seconds=10), written - timedelta(seconds=4), written - timedelta(seconds=1)):
        assert again.restored(base, written).wanted == up_to(6)
    assert {owners(again)[name] for name in names(1, 2)} == {"member"}


def test_what_it_wrote_alone_on_such_a_volume_is_its_own_whoever_copied_it(group: Group, tmp_path: Path) -> None:
    server, _, s3 = goes_on_from_an_older_volume(group, tmp_path / "older")
    started = server.now
    again = World(server, s3, "of-restored")
    server.commit()
    starts_again(again)
    said = again.commits(1)
    assert again.restored(started, said.moment).wanted == said.gtids
