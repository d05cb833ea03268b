"""What `until` says that this release's copier did not write."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nomad_stateful.agent.copies.model import HeldError
from nomad_stateful.databases.mysql.archive import UNTIL
from tests.unit.agent.world import PLACE, UUID, World, names, up_to

MOMENT = "2026-11-22T10:00:00Z"


class TestUntilOfAnEarlierRelease:
    """It says which log is the newest, and not what is in it."""

    def test_it_is_gone_on_from_by_that_log(self, world: World) -> None:
        known = world.commits(2, 1)
        world.put(known.newest, world.body(known.newest))
        world.server.purge(1, 2)
        text = f"{known.moment:%Y-%m-%dT%H:%M:%SZ}\nserver {UUID}\nwriter zero\nnewest {known.newest}\n"
        world.put(PLACE + UNTIL, text.encode())
        world.restart("two")
        assert world.commits(1).gtids == up_to(4)
        world.put(PLACE + UNTIL, text.encode())
        world.server.purge(3)
        world.restart("three")
        with pytest.raises(HeldError, match=f"transactions are lost, .*: {UUID}:4"):
            world.commits(1)

    def test_a_time_alone_is_gone_on_from(self, world: World) -> None:
        world.put(PLACE + UNTIL, f"{MOMENT}\n".encode())
        said = world.commits(1, 1)
        assert (said.gtids, world.stored()) == (up_to(2), names(1, 2))

    def test_its_newest_log_may_be_none_of_gtids(self, world: World) -> None:
        world.server.anonymous()
        known = world.round()
        world.put(known.newest, world.body(known.newest))
        world.put(PLACE + UNTIL, f"{MOMENT}\nserver {UUID}\nwriter zero\nnewest {known.newest}\n".encode())
        world.restart("two")
        world.server.tick(600)
        assert world.commits(1).gtids == up_to(1)


class TestWhatAClientWrites:
    """Whoever may write logs may write it; what it keeps back is copied all the same."""

    @pytest.mark.parametrize("text", ["tomorrow", "", "\xff\n", f"{MOMENT}\ngtids x"])
    def test_what_no_copier_wrote_is_told(self, world: World, text: str) -> None:
        world.put(PLACE + UNTIL, text.encode("latin-1"))
        for _ in range(2):
            with pytest.raises(HeldError, match=r"begins with .*: somebody else wrote it"):
                world.commits(1)
        assert world.body(PLACE + UNTIL) == text.encode("latin-1")
        assert world.stored() == names(1, 2)
        world.remove_until()
        assert world.round().gtids == up_to(2)

    @pytest.mark.parametrize(
        "newest",
        [
            f"{PLACE}20260101T000000Z-x|e echo it ran >&2\nnewest :inlog.000002$|d\nnewest binlog.000002",
            f"{PLACE}20260101T000000Z-binlog.[$(echo it ran >&2)]",
            f"{PLACE}20261122T100001Z-binlog.000009",
            f"{PLACE}{UNTIL}",
            "secret",
            "",
        ],
    )
    @pytest.mark.parametrize("gtids", ["", f"gtids {UUID}:1\n"])
    def test_a_newest_log_that_is_none_says_nothing(self, world: World, newest: str, gtids: str) -> None:
        world.put("secret", b"x")
        world.put(PLACE + UNTIL, f"{MOMENT}\nserver {UUID}\nwriter one\nnewest {newest}\n{gtids}".encode())
        said = world.commits(1, 1)
        assert (said.gtids, said.newest, world.stored()) == (up_to(2), world.key(2), names(1, 2))

    @pytest.mark.parametrize("restarts", [False, True])
    @pytest.mark.parametrize("there", [False, True])
    def test_transactions_that_are_not_in_s3_are_lost_whatever_it_says(
        self, world: World, restarts: bool, there: bool
    ) -> None:
        known = world.commits(1)
        for _ in range(3):
            world.server.commit()
            world.server.close_log()
        world.put(PLACE + UNTIL, replace(known, gtids=up_to(3)).text().encode())
        world.server.purge(3, *[1] * (not there), unlisted=False)
        if restarts:
            world.restart()
        for _ in range(2):
            with pytest.raises(HeldError, match=f"transactions are lost, .*: {UUID}:3"):
                world.commits(1)
        assert names(2)[0] in world.stored()
