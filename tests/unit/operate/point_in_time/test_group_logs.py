"""Which logs of a group's members lead to a point in time, in which order."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest

from nomad_stateful.databases.mysql.gtids import GtidSet
from nomad_stateful.operate.point_in_time import logs
from nomad_stateful.operate.point_in_time.logs import PointInTimeError
from nomad_stateful.operate.point_in_time.replay import Replay, replay
from tests.unit.databases.mysql.test_binlog import SOURCE, before, gtid, rotated
from tests.unit.databases.mysql.test_binlog import log as content
from tests.unit.operate.point_in_time.test_logs import Objects, at, up_to


def log(member: str, number: int, minutes: float, had: int, commits: Sequence[tuple[int, float]]) -> dict[str, bytes]:
    """A member's log that began then, when it had so many transactions; each with its number and minute."""
    events = [gtid(one, at(minute), replicated=True) for one, minute in commits]
    # Closed whenever: that says nothing.
    text = content(before((SOURCE, [(1, had + 1)])), *events, rotated(at(minutes + 100))).getvalue()
    return {f"dev/binlogs/{at(minutes):%Y%m%dT%H%M%SZ}-{member}-binlog.{number:06d}": text}


def until(minutes: float, gtids: int, newest: str = "") -> dict[str, bytes]:
    said = f"{at(minutes):%Y-%m-%dT%H:%M:%SZ}\nserver x\nwriter 1\nnewest {newest}\ngtids {SOURCE}:1-{gtids}\n"
    return {"dev/binlogs/until": said.encode()}


def restored(objects: dict[str, bytes], base: float, to: float | datetime) -> Replay:
    moment = at(to) if isinstance(to, float | int) else to
    return replay(logs.stored(Objects(objects), "dev/"), at(base), moment)


def keys(found: Replay) -> list[str]:
    return [one.key.partition("Z-")[2] for one in found.logs]


FIRST = log("a", 1, 1, 0, [(1, 1.1), (2, 1.2)]) | log("a", 2, 2, 2, [(3, 2.1), (4, 2.2)])
"""Of the first primary, which is lost at 3.5; its third log with the fifth is never copied."""
NEXT = log("b", 8, 2.5, 3, [(4, 2.2), (5, 3.1)]) | log("b", 9, 3.2, 5, [(6, 4.1), (7, 4.3)])
"""Of the second one, which was behind."""


class TestAFailover:
    OBJECTS = FIRST | NEXT | until(6, 7, "dev/binlogs/x")

    @pytest.mark.parametrize(
        ("to", "last", "logs"),
        [
            (1.15, 1, ["a-binlog.000001"]),
            (2.15, 3, ["a-binlog.000001", "a-binlog.000002"]),
            (2.9, 4, ["a-binlog.000001", "a-binlog.000002", "b-binlog.000008"]),
            (3.6, 5, ["a-binlog.000001", "a-binlog.000002", "b-binlog.000008", "b-binlog.000009"]),
            (4.2, 6, ["a-binlog.000001", "a-binlog.000002", "b-binlog.000008", "b-binlog.000009"]),
            (5.9, 7, ["a-binlog.000001", "a-binlog.000002", "b-binlog.000008", "b-binlog.000009"]),
        ],
    )
    def test_any_moment_ends_with_its_last_transaction(self, to: float, last: int, logs: list[str]) -> None:
        found = restored(self.OBJECTS, 1.05, to)
        assert (found.last, found.wanted, found.begins, keys(found)) == (
            f"{SOURCE}:{last}",
            up_to(last),
            GtidSet(),
            logs,
        )

    def test_without_the_next_ones_log_that_overlaps_nothing_leads_over(self) -> None:
        objects = {key: body for key, body in self.OBJECTS.items() if "b-binlog.000008" not in key}
        with pytest.raises(PointInTimeError, match=f"{SOURCE}:5 between them is missing") as error:
            restored(objects, 1.05, 4.2)
        assert "whole up to 2026-11-22T10:02:12Z" in str(error.value)
        assert restored(objects, 1.05, at(2.2)).wanted == up_to(4)

    def test_until_of_transactions_that_no_log_has_vouches_for_nothing(self) -> None:
        with pytest.raises(PointInTimeError, match="is the last log that its server copied"):
            restored(self.OBJECTS | until(6, 8), 1.05, 5.9)

    def test_a_snapshot_of_later_begins_five_minutes_before_it(self) -> None:
        more = log("b", 10, 9, 7, [(8, 9.1)]) | log("b", 11, 10, 8, [(9, 10.1)]) | until(12, 9)
        found = restored(self.OBJECTS | more, 11, 11.9)
        # The member of the snapshot may have been behind; what it has is not applied again.
        assert keys(found) == ["b-binlog.000009", "b-binlog.000010", "b-binlog.000011"]
        assert (found.begins, found.wanted) == (up_to(5), up_to(9))


def test_a_log_that_began_long_before_the_snapshot_is_needed_once_its_member_is_the_primary() -> None:
    """Its copier was away, so that it was not closed; S3 has it since after the snapshot."""
    primary = log("a", 1, 1, 0, [(1, 1.1)]) | log("a", 2, 10, 1, [(2, 10.1)]) | log("a", 3, 20, 2, [(3, 20.1)])
    late = log("b", 5, 2, 1, [(2, 10.1), (3, 20.1), (4, 21.1), (5, 22)])
    objects = primary | late | until(23, 5)
    with pytest.raises(PointInTimeError, match="whole up to 2026-11-22T10:20:06Z"):
        restored(objects, 20.6, 21.5)
    stored = Objects(objects)
    stored._client.stored = {key: at(22.5) for key in late}
    found = replay(logs.stored(stored, "dev/"), at(20.6), at(21.5))
    assert keys(found) == ["b-binlog.000005"]
    assert (found.last, found.wanted, found.begins) == (f"{SOURCE}:4", up_to(4), up_to(1))


def test_of_one_second_the_transactions_say_the_order() -> None:
    """By the names the second one's log comes first; it begins with what the first one's has."""
    first, second = log("z", 1, 1, 0, [(1, 1.1)]), log("b", 1, 1, 1, [(2, 2.1)])
    objects = log("a", 1, 0.5, 0, []) | second | first | log("c", 1, 3, 2, [(3, 3.1)])
    found = restored(objects | until(4, 3), 1.5, 3.5)
    assert keys(found) == ["a-binlog.000001", "z-binlog.000001", "b-binlog.000001", "c-binlog.000001"]
    assert found.after == ((*second, *first),)
    assert (found.wanted, found.others) == (up_to(3), ())


def test_commits_that_are_out_of_order_by_little_are_wanted_with_those_before_them() -> None:
    """Members take the time before the group says the order."""
    early = at(2) + timedelta(microseconds=1)
    objects = log("a", 1, 1, 0, [(1, 1.1)]) | log("a", 2, 1.5, 1, [])
    body = content(
        before((SOURCE, [(1, 2)])),
        gtid(2, early + timedelta(microseconds=5), replicated=True),
        gtid(3, early, replicated=True),
        gtid(4, at(3), replicated=True),
    ).getvalue()
    objects |= {f"dev/binlogs/{at(1.6):%Y%m%dT%H%M%SZ}-a-binlog.000003": body} | until(4, 4)
    found = restored(objects, 1.2, early)
    assert (found.last, found.wanted) == (f"{SOURCE}:3", up_to(3))


def test_a_single_servers_logs_that_follow_are_not_the_groups() -> None:
    """As of a restored moment that went on in the same place."""
    single = {f"dev/binlogs/{at(5):%Y%m%dT%H%M%SZ}-binlog.000001": content(before(), rotated(at(6))).getvalue()}
    with pytest.raises(PointInTimeError, match="whole up to 2026-11-22T10:02:12Z"):
        restored(FIRST | single | until(7, 9), 1.5, 5.5)
